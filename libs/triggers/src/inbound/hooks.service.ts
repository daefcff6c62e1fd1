import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { WorkspaceSecrets } from '#integrations';
import {
  type Clock,
  Config,
  isId,
  parseJson,
  PrismaService,
  type PrismaTransaction,
  systemClock,
  toStorable,
} from '#platform';

import { signatureProblem, signatureStyleOf, type SignedRequest } from '../signature.js';
import { threadOf } from './map-input.js';
import type { TriggerEvent } from './trigger-condition.js';
import { isJsonObject } from './trigger-definition.js';
import { evaluateConditions } from './trigger-index.js';
import { TriggerRunsRepository } from './trigger-runs.repository.js';
import { type StoredTrigger, type TriggerRef, TriggersRepository } from './triggers.repository.js';

/** The outcome of a request to a trigger; the response contains nothing else. */
export type HookOutcome = 'ok' | 'ignored' | 'unauthorized' | 'invalid' | 'too-many';

export interface HookResult {
  readonly outcome: HookOutcome;
  /** Why the request is unauthorized, for the log of the operator. */
  readonly reason?: string;
}

type VerifiedStyle = 'standard' | 'syntrix' | 'unsigned';

/** Takes requests to `/hooks/<trigger>`. A request is verified on its bytes, then parsed; its job is started by a worker. */
@Injectable()
export class Hooks {
  /** Tests replace it. */
  clock: Clock = systemClock;

  constructor(
    private readonly prisma: PrismaService,
    private readonly triggers: TriggersRepository,
    private readonly runs: TriggerRunsRepository,
    private readonly secrets: WorkspaceSecrets,
    private readonly config: Config,
  ) {}

  /** Whether requests to this id may be read. */
  async isKnown(id: string): Promise<boolean> {
    return isId(id) && (await this.triggers.locate(id)) !== null;
  }

  /** `ok`: the request is committed, or repeats a committed one. */
  async receive(id: string, request: SignedRequest): Promise<HookResult> {
    const ref = isId(id) ? await this.triggers.locate(id) : null;
    const trigger = ref === null ? null : await this.find(ref);
    if (ref === null || trigger === null) return unauthorized('the trigger is unknown or disabled');
    if (trigger.definition.source !== 'webhook') return unauthorized('the source of the trigger is not `webhook`');
    const verified = await this.verify(ref.workspaceId, trigger, request);
    if ('reason' in verified) return verified;
    const body = parseObject(request.body);
    if (body === null) return { outcome: 'invalid' };
    const key = keyOf(body, request, verified.style);
    const event: TriggerEvent = {
      ...{ type: 'webhook', timestamp: this.clock.now(), path: '', before: null },
      document: toStorable(body) as Readonly<Record<string, unknown>>, // the same shape; only texts are normalized
    };
    return { outcome: await this.prisma.withWorkspace(ref, (tx) => this.accept(tx, { ref, key, event })) };
  }

  /** The trigger is locked, so that its rate is exact and a repetition sees the first request. */
  private async accept(
    tx: PrismaTransaction,
    { ref, key, event }: { readonly ref: TriggerRef; readonly key: string; readonly event: TriggerEvent },
  ): Promise<HookOutcome> {
    const { workspaceId, id: triggerId } = ref;
    const trigger = await this.triggers.lockEnabled(tx, ref);
    const start = trigger?.definition.start ?? null;
    if (trigger === null || start === null) return 'unauthorized';
    if (await this.runs.isKnown(tx, ref, key)) return 'ok';
    const { rateLimit } = trigger.definition;
    if (rateLimit !== null && (await this.runs.acceptedInLastSecond(tx, workspaceId, triggerId)) >= rateLimit)
      return 'too-many';
    if (await this.runs.isFull(tx, workspaceId)) return 'too-many';
    const { fires, problem } = evaluateConditions(trigger.definition, event);
    if (fires || problem !== null) {
      const failed = problem === null ? 0 : 1;
      await this.triggers.add(tx, workspaceId, [{ id: triggerId, fired: 1 - failed, failed, lastError: problem }]);
    }
    if (!fires) return 'ignored';
    const thread = threadOf(start, event);
    await this.runs.insert(tx, { workspaceId, triggerId, key, event, thread, delayMs: start.delay });
    return 'ok';
  }

  private find(ref: TriggerRef): Promise<StoredTrigger | null> {
    return this.prisma.withWorkspace(ref, (tx) => this.triggers.findEnabled(tx, ref));
  }

  /** The headers that count, or why the request is refused. An id in a header counts only if the signature covers it. */
  private async verify(
    workspaceId: string,
    { definition: { secretsRef } }: StoredTrigger,
    request: SignedRequest,
  ): Promise<{ readonly style: VerifiedStyle } | (HookResult & { readonly reason: string })> {
    const { TRIGGERS_ALLOW_UNSIGNED, TRIGGERS_SIGNATURE_TOLERANCE_SECONDS: toleranceSeconds } = this.config.values;
    if (secretsRef === null && TRIGGERS_ALLOW_UNSIGNED) return { style: 'unsigned' };
    if (secretsRef === null)
      return unauthorized('the trigger has no `secretsRef`, and TRIGGERS_ALLOW_UNSIGNED is not set');
    const secret = (await this.secrets.resolve(workspaceId, [secretsRef])).get(secretsRef);
    if (secret === undefined) return unauthorized(`the workspace has no secret ${JSON.stringify(secretsRef)}`);
    const options = { now: this.clock.now(), toleranceSeconds };
    const style = signatureStyleOf([secret.reveal()], request, options);
    return style === null ? unauthorized(signatureProblem(request, options)) : { style };
  }
}

function unauthorized(reason: string) {
  return { outcome: 'unauthorized', reason } as const;
}

function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The key of a request: its id if there is one, else its bytes. */
function keyOf(
  body: Readonly<Record<string, unknown>>,
  { headers, body: bytes }: SignedRequest,
  signed: VerifiedStyle,
): string {
  const header = headers['webhook-id'];
  const { deliveryId } = body;
  const id = signed !== 'syntrix' && typeof header === 'string' ? header : deliveryId;
  if (typeof id === 'string' && id !== '' && id.length <= 256) return `id:${id}`;
  return `body:${createHash('sha256').update(bytes).digest('hex')}`;
}
