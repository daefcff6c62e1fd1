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
} from '#platform';

import { ProviderBreakers } from './breakers/provider-breakers.js';
import type { Model } from './model.js';
import { arePrivateUrlsAllowed } from './model-url.js';
import { missingModelKey } from './models.errors.js';
import { createModelAgent, createOpenAiModel } from './openai-model.js';
import { type Endpoint, instanceEndpoint, ownKeyEndpoint } from './providers/instance-endpoint.js';
import type { StoredEndpoint } from './providers/model-providers.repository.js';
import { providerKeyPlace } from './providers/provider-key-place.js';
import { WorkspaceModels } from './providers/workspace-models.js';
import { withoutSecrets } from './without-secrets.js';

/** What of a job decides which model answers it. */
export interface ModelJob {
  readonly workspaceId: string;
  readonly jobId: string;
  /** The model's name, as chosen when the job was accepted. */
  readonly model: string;
  /** A key given for this job only, sealed for its row. */
  readonly keyCipher: Uint8Array | null;
}

interface Choice {
  readonly endpoint: Endpoint;
  /** Chosen by a tenant: connected to only if it is a public address. */
  readonly isGuarded: boolean;
}

/** Binds the encrypted key to its row. */
export function jobKeyPlace(job: { readonly workspaceId: string; readonly jobId: string }): SecretPlace {
  return { workspaceId: job.workspaceId, table: 'job', row: job.jobId, field: 'key_cipher' };
}

/** The sealed values of jobs, for a change of the installation's secret. */
export const jobKeys: SealedColumn = {
  table: 'job',
  column: 'key_cipher',
  placeOf: ({ workspaceId, id }) => jobKeyPlace({ workspaceId, jobId: id }),
};

/**
 * Finds the model of a job. The endpoint is the workspace's default provider, else the instance's. The key is that of the request, else
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

  /** The name a new job will use. Throws `missing_model_key` when no key is configured for it. */
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

  /** Throws `missing_model_key`, and `secret_unreadable` for a key that was sealed elsewhere or under another NIGHTSHIFT_SECRET. */
  async modelOf(job: ModelJob): Promise<{ readonly model: Model; readonly modelName: string }> {
    const { endpoint, isGuarded } = await this.choose(job.workspaceId, job.keyCipher !== null);
    const apiKey = job.keyCipher === null ? endpoint.apiKey : this.secretBox.open(job.keyCipher, jobKeyPlace(job));
    const { values } = this.config;
    const model = createOpenAiModel(
      { baseUrl: endpoint.baseUrl, apiKey },
      {
        clock: systemClock,
        dispatcher: isGuarded ? this.guarded : this.agent,
        retries: 0, // the job retries instead: it emits events, and releases its slot for long waits
        firstByteTimeoutMs: values.MODEL_FIRST_BYTE_TIMEOUT_MS,
        idleTimeoutMs: values.MODEL_IDLE_TIMEOUT_MS,
      },
    );
    const redactor = this.redactor.ofJob(job.workspaceId, apiKey);
    const guarded = this.breakers.guard(model, { baseUrl: endpoint.baseUrl, apiKey, modelName: job.model });
    return { model: withoutSecrets(guarded, redactor), modelName: job.model };
  }

  /** The last phase of a shutdown: before it, jobs may still be brought to the commit of their round. */
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

  /** With an own key the stored one is not even opened. */
  private toEndpoint(workspaceId: string, provider: StoredEndpoint, hasOwnKey: boolean): Endpoint {
    const { id, baseUrl, defaultModel, keyCipher } = provider;
    if (hasOwnKey || keyCipher === null) return { baseUrl, defaultModel, apiKey: null };
    const apiKey = this.secretBox.open(keyCipher, providerKeyPlace({ workspaceId, id }));
    this.redactor.keep(apiKey, workspaceId);
    return { baseUrl, defaultModel, apiKey };
  }
}
