import { Injectable, type OnApplicationShutdown } from '@nestjs/common';

import {
  AppError,
  Config,
  createGuardedAgent,
  Redactor,
  type SealedColumn,
  SecretBox,
  type SecretPlace,
  systemClock,
  type TextRedactor,
  timeSlice,
} from '#platform';

import { ProviderBreakers } from './breakers/provider-breakers.js';
import { MAX_ARGUMENT_BYTES, type Model, type ModelPart, type RequestedCall } from './model/model.js';
import { arePrivateUrlsAllowed } from './model/model-url.js';
import { missingModelKey } from './model/models.errors.js';
import { createModelAgent, createOpenAiModel } from './openai-model.js';
import { type Endpoint, instanceEndpoint, ownKeyEndpoint } from './providers/instance-endpoint.js';
import type { StoredEndpoint } from './providers/model-providers.repository.js';
import { providerKeyPlace } from './providers/provider-key-place.js';
import { WorkspaceModels } from './providers/workspace-models.js';
import { streamTurns } from './stream-turns.js';

/** The fields of a job by which its model is found. */
export interface ModelJob {
  readonly workspaceId: string;
  readonly jobId: string;
  /** The name of the model, chosen when the job was accepted. */
  readonly model: string;
  /** A key for this job only, encrypted for its row. */
  readonly keyCipher: Uint8Array | null;
}

interface Choice {
  readonly endpoint: Endpoint;
  /** A tenant chose the endpoint, so only public addresses are allowed. */
  readonly isGuarded: boolean;
}

/** Binds the encrypted key to its row. */
export function jobKeyPlace(job: { readonly workspaceId: string; readonly jobId: string }): SecretPlace {
  return { workspaceId: job.workspaceId, table: 'job', row: job.jobId, field: 'key_cipher' };
}

/** The encrypted keys of jobs, which are encrypted again when the installation's secret changes. */
export const jobKeys: SealedColumn = {
  table: 'job',
  column: 'key_cipher',
  placeOf: ({ workspaceId, id }) => jobKeyPlace({ workspaceId, jobId: id }),
};

/**
 * Finds the model of a job. The endpoint is the workspace's default provider, else the installation's. The key is that of the request, else
 * that of the endpoint, unless the workspace requires user keys.
 */
@Injectable()
export class ModelCatalog implements OnApplicationShutdown {
  private readonly agent = createModelAgent();
  private readonly guarded;
  private readonly breakers: ProviderBreakers;

  constructor(
    private readonly config: Config,
    private readonly secretBox: SecretBox,
    private readonly workspaces: WorkspaceModels,
    private readonly redactor: Redactor,
  ) {
    this.guarded = createGuardedAgent({ allowPrivate: arePrivateUrlsAllowed(config) });
    this.breakers = new ProviderBreakers({
      failures: config.values.MODEL_BREAKER_FAILURES,
      pauseMs: config.values.MODEL_BREAKER_PAUSE_MS,
      maxPauseMs: Math.max(config.values.MODEL_BREAKER_PAUSE_MS, 60_000),
    });
    const key = instanceEndpoint(config.values)?.apiKey;
    if (key !== null && key !== undefined) redactor.add(key);
  }

  /** The name of the model that a new job will use. Throws `missing_model_key` if no key is configured for it. */
  async modelNameFor(request: {
    readonly workspaceId: string;
    readonly wanted: string | null;
    readonly hasOwnKey: boolean;
  }): Promise<string> {
    const { endpoint } = await this.choose(request.workspaceId, request.hasOwnKey);
    return request.wanted ?? endpoint.defaultModel;
  }

  /** Names or globs of the models that clients may request directly, the default first; empty when no key is configured. */
  async directModels(workspaceId: string): Promise<readonly string[]> {
    const settings = await this.workspaces.of(workspaceId);
    try {
      const { endpoint } = await this.choose(workspaceId, false);
      return [...new Set([endpoint.defaultModel, ...(settings?.directModels ?? [])])];
    } catch (error) {
      if (error instanceof AppError && error.code === 'missing_model_key') return [];
      throw error;
    }
  }

  /** Throws `missing_model_key`. Throws `secret_unreadable` for a key that was encrypted for another row or with another NIGHTSHIFT_SECRET. */
  async modelOf(job: ModelJob): Promise<{ readonly model: Model; readonly modelName: string }> {
    const { endpoint, isGuarded } = await this.choose(job.workspaceId, job.keyCipher !== null);
    const apiKey = job.keyCipher === null ? endpoint.apiKey : this.secretBox.open(job.keyCipher, jobKeyPlace(job));
    const { values } = this.config;
    const model = createOpenAiModel(
      { baseUrl: endpoint.baseUrl, apiKey },
      {
        clock: systemClock,
        dispatcher: isGuarded ? this.guarded : this.agent,
        firstByteTimeoutMs: values.MODEL_FIRST_BYTE_TIMEOUT_MS,
        idleTimeoutMs: values.MODEL_IDLE_TIMEOUT_MS,
      },
    );
    const redactor = this.redactor.ofJob(job.workspaceId, apiKey);
    const guarded = this.breakers.guard(model, { baseUrl: endpoint.baseUrl, apiKey, modelName: job.model });
    return { model: withoutSecrets(guarded, redactor), modelName: job.model };
  }

  /** Called in the last phase of a shutdown: in the phases before, running jobs may still complete and commit their round. */
  async onApplicationShutdown(): Promise<void> {
    this.workspaces.close();
    await Promise.all([this.agent.destroy(), this.guarded.destroy()]);
  }

  private async choose(workspaceId: string, hasOwnKey: boolean): Promise<Choice> {
    const settings = await this.workspaces.of(workspaceId);
    if (settings?.requireUserKey === true && !hasOwnKey) throw missingModelKey();
    const provider = settings?.provider ?? null;
    if (provider !== null) return { endpoint: this.toEndpoint(workspaceId, provider, hasOwnKey), isGuarded: true };
    const endpoint = hasOwnKey ? ownKeyEndpoint(this.config.values) : instanceEndpoint(this.config.values);
    if (endpoint === null) throw missingModelKey();
    return { endpoint, isGuarded: false };
  }

  /** If the job has its own key, the stored key is not decrypted. */
  private toEndpoint(workspaceId: string, provider: StoredEndpoint, hasOwnKey: boolean): Endpoint {
    const { id, baseUrl, defaultModel, keyCipher } = provider;
    if (hasOwnKey || keyCipher === null) return { baseUrl, defaultModel, apiKey: null };
    const apiKey = this.secretBox.open(keyCipher, providerKeyPlace({ workspaceId, id }));
    this.redactor.keep(apiKey, workspaceId);
    return { baseUrl, defaultModel, apiKey };
  }
}

/**
 * A model whose text, reasoning and calls have all known secrets redacted, before they are stored, shown or run: a secret in a
 * conversation cannot leak through a response or a tool. A possible beginning of a secret is buffered until the next part. All
 * other text is unchanged.
 */
export function withoutSecrets(model: Model, redactor: KnownRedactor, turns = streamTurns): Model {
  return {
    async *stream(request, signal) {
      const streams = { text: redactor.knownStream(), reasoning: redactor.knownStream() };
      for await (const parts of model.stream(request, signal)) {
        const clean: ModelPart[] = [];
        for (const part of parts) {
          if (part.type === 'text' || part.type === 'reasoning') {
            const pieces = new Pieces(part.text, streams[part.type]);
            while (pieces.isLeft) {
              const redacted = turns.run(pieces.redactNext);
              if (redacted === undefined) continue;
              await redacted;
              signal.throwIfAborted();
            }
            clean.push(...toParts(part.type, pieces.shown));
            continue;
          }
          clean.push(...toParts('reasoning', streams.reasoning.end()), ...toParts('text', streams.text.end()));
          clean.push(
            part.type === 'finish' ? part : { ...part, calls: await cleanCalls(part.calls, redactor, signal) },
          );
        }
        if (clean.length > 0) yield clean;
      }
    },
  };
}

type KnownRedactor = Pick<TextRedactor, 'redactKnown' | 'knownStream'>;
type RedactingStream = ReturnType<TextRedactor['knownStream']>;

/** A text that is redacted in pieces. */
class Pieces {
  shown = '';
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly stream: RedactingStream,
  ) {}

  get isLeft(): boolean {
    return this.at < this.text.length;
  }

  readonly redactNext = (): boolean => {
    const end = this.at + TEXT_PIECE_LENGTH;
    this.shown += this.stream.push(this.text.slice(this.at, end));
    this.at = end;
    return this.isLeft;
  };
}

function toParts(type: 'text' | 'reasoning', text: string): readonly ModelPart[] {
  return text === '' ? [] : [{ type, text }];
}

/** 65,536 characters of arguments can take 15 ms, so other work of the process runs between such calls. */
async function cleanCalls(
  calls: readonly RequestedCall[],
  redactor: KnownRedactor,
  signal: AbortSignal,
): Promise<readonly RequestedCall[]> {
  const clean: RequestedCall[] = [];
  for (const call of calls) {
    if (timeSlice.isOver) await timeSlice.nextTurn();
    signal.throwIfAborted();
    const name = await redactLong(call.name, redactor);
    clean.push({ ...call, name, arguments: await cleanJson(call.arguments, redactor) });
  }
  return clean;
}

/** Characters of text that are redacted between two checks of the clock: at most 2 ms, if all are escapes. */
const TEXT_PIECE_LENGTH = 8_192;

/** Characters of a call that are redacted at once. */
const PIECE_LENGTH = 65_536;

/** Redacts a long text in pieces, and lets other work of the process run between them. */
async function redactLong(text: string, redactor: KnownRedactor): Promise<string> {
  if (text.length <= PIECE_LENGTH) return redactor.redactKnown(text);
  const stream = redactor.knownStream();
  let shown = '';
  for (let at = 0; at < text.length; at += PIECE_LENGTH) {
    if (timeSlice.isOver) await timeSlice.nextTurn();
    shown += stream.push(text.slice(at, at + PIECE_LENGTH));
  }
  return shown + stream.end();
}

/**
 * A secret may be written with JSON escapes, so that only the parsed text shows it. Text without a secret, and numbers, stay as the model wrote them.
 */
async function cleanJson(text: string, redactor: KnownRedactor): Promise<string> {
  const shown = await redactLong(text, redactor);
  if (shown.length > MAX_ARGUMENT_BYTES) return shown;
  try {
    const found: string[] = [];
    const value: unknown = JSON.parse(shown, (_, member: unknown, context?: { readonly source?: string }) => {
      if (typeof member === 'number' && context?.source !== undefined) return rawJson(context.source);
      if (typeof member !== 'string') return member;
      const clean = redactor.redactKnown(member);
      if (clean !== member) found.push(clean);
      return clean;
    });
    return found.length > 0 ? JSON.stringify(value) : shown;
  } catch {
    return shown; // not JSON, so the call will not run
  }
}

/** Represents a value by its JSON text (ECMAScript 2026, `JSON.rawJSON`; not in the types yet). */
function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}
