import { Inject, Injectable } from '@nestjs/common';
import type { z } from 'zod';

import {
  BUS,
  type Bus,
  Config,
  isId,
  newId,
  PrismaService,
  type PrismaTransaction,
  readInput,
  type Scope,
  type Secret,
  SecretBox,
} from '#platform';

import { assertBaseUrlAllowed, parseBaseUrl } from '../model/model-url.js';
import {
  apiKeyInvalid,
  apiKeyNeeded,
  providerInputInvalid,
  providerNameTaken,
  providerNotFound,
  tooManyProviders,
} from '../model/models.errors.js';
import { isSendableKey } from '../model/sendable-key.js';
import {
  type ModelProvider,
  type ModelProviderChanges,
  type NewModelProvider,
  providerTexts,
} from './model-provider.js';
import { type KeyColumns, ModelProvidersRepository } from './model-providers.repository.js';
import { providerKeyPlace } from './provider-key-place.js';

const MAX_PROVIDERS = 50;

/**
 * The model providers that a workspace sets up for itself. The scope limits what is read; the caller checks the right to write (`manage`
 * `ModelProvider`). Each write is audited in its own transaction, changes of one workspace run one after the other, and a hint notifies the other
 * processes.
 */
@Injectable()
export class ModelProvidersService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly providers: ModelProvidersRepository,
    private readonly secretBox: SecretBox,
    private readonly config: Config,
    @Inject(BUS) private readonly bus: Bus,
  ) {}

  /** The providers that the scope may read, oldest first; at most 50. */
  list(scope: Scope): Promise<ModelProvider[]> {
    return this.prisma.withWorkspace(scope, (tx) => this.providers.list(tx, scope));
  }

  /** Returns null if the provider is absent or not readable. */
  async find(scope: Scope, id: string): Promise<ModelProvider | null> {
    return isId(id) ? this.prisma.withWorkspace(scope, (tx) => this.providers.find(tx, scope, id)) : null;
  }

  /**
   * The first provider of a workspace becomes its default. Throws `bad_request`, `invalid_base_url`, `conflict` (the name is in use, or there are
   * 50).
   */
  create(scope: Scope, input: NewModelProvider): Promise<ModelProvider> {
    const { name, baseUrl, defaultModel } = this.readTexts(providerTexts, input);
    const id = newId();
    const key = this.toKeyColumns({ workspaceId: scope.workspaceId, id }, input.apiKey);
    return this.write(scope, 'model-provider-created', async (tx) => {
      const others = await this.providers.list(tx, scope);
      if (others.length >= MAX_PROVIDERS) throw tooManyProviders(MAX_PROVIDERS);
      assertNameFree(others, id, name);
      const isDefault = input.isDefault ?? others.length === 0;
      const made = await this.providers.insert(tx, scope.workspaceId, { id, name, baseUrl, defaultModel, ...key });
      if (isDefault) await this.providers.setDefault(tx, scope.workspaceId, id);
      return { ...made, isDefault };
    });
  }

  /**
   * Throws the errors of `create`, and `not_found`. A base URL with another origin requires the key again. Otherwise a member who may change the URL
   * could read the key by sending it to another host.
   */
  update(scope: Scope, id: string, changes: ModelProviderChanges): Promise<ModelProvider> {
    const { apiKey, ...rest } = changes;
    const texts = this.readTexts(providerTexts.partial(), rest);
    const key = apiKey === undefined ? {} : this.toKeyColumns({ workspaceId: scope.workspaceId, id }, apiKey);
    return this.write(scope, 'model-provider-changed', async (tx) => {
      const others = await this.providers.list(tx, scope);
      const old = others.find((provider) => provider.id === id);
      if (old === undefined) throw providerNotFound();
      const { name = old.name, baseUrl = old.baseUrl, defaultModel = old.defaultModel } = texts;
      assertNameFree(others, id, name);
      if (apiKey === undefined && old.keyHint !== null && isElsewhere(old.baseUrl, baseUrl)) throw apiKeyNeeded();
      return this.providers.update(tx, scope, { id, columns: { name, baseUrl, defaultModel, ...key } });
    });
  }

  /** Makes it the provider of the workspace's jobs. Throws `not_found`. */
  setDefault(scope: Scope, id: string): Promise<ModelProvider> {
    return this.write(scope, 'model-provider-made-default', async (tx) => {
      const provider = isId(id) ? await this.providers.find(tx, scope, id) : null;
      if (provider === null) return null;
      await this.providers.setDefault(tx, scope.workspaceId, id);
      return { ...provider, isDefault: true };
    });
  }

  /** Deletes the provider and its key. If it was the default, jobs use the installation's provider, if there is one. Throws `not_found`. */
  delete(scope: Scope, id: string): Promise<ModelProvider> {
    return this.write(scope, 'model-provider-deleted', async (tx) => {
      const provider = isId(id) ? await this.providers.find(tx, scope, id) : null;
      if (provider !== null) await this.providers.delete(tx, scope, id);
      return provider;
    });
  }

  private async write(
    scope: Scope,
    action: string,
    run: (tx: PrismaTransaction) => Promise<ModelProvider | null>,
  ): Promise<ModelProvider> {
    const provider = await this.prisma.withWorkspace(scope, async (tx) => {
      await this.providers.lock(tx, scope.workspaceId);
      const written = await run(tx);
      if (written === null) throw providerNotFound();
      await this.providers.audit(tx, scope, { action, provider: written });
      return written;
    });
    this.bus.publish('access-changed', { workspaceId: scope.workspaceId });
    return provider;
  }

  /** Trims and validates the text fields. */
  private readTexts<T extends { readonly baseUrl?: string | undefined }>(schema: z.ZodType<T>, input: object): T {
    const read = readInput(schema, input);
    if ('problem' in read) throw providerInputInvalid(read.problem);
    if (read.data.baseUrl !== undefined) assertBaseUrlAllowed(parseBaseUrl(read.data.baseUrl), this.config);
    return read.data;
  }

  private toKeyColumns(row: { readonly workspaceId: string; readonly id: string }, apiKey: Secret | null): KeyColumns {
    if (apiKey === null) return { keyCipher: null, keyHint: null };
    if (!isSendableKey(apiKey)) throw apiKeyInvalid();
    return { keyCipher: this.secretBox.seal(apiKey, providerKeyPlace(row)), keyHint: apiKey.hint() };
  }
}

function assertNameFree(others: readonly ModelProvider[], id: string, name: string): void {
  if (others.some((provider) => provider.id !== id && provider.name === name)) throw providerNameTaken(name);
}

function isElsewhere(oldUrl: string, newUrl: string): boolean {
  return parseBaseUrl(oldUrl).origin !== parseBaseUrl(newUrl).origin;
}
