import { Injectable } from '@nestjs/common';

import {
  appendAudit,
  type ModelProviderRow,
  type Prisma,
  PrismaService,
  type PrismaTransaction,
  type Scope,
} from '#platform';

import type { ModelProvider } from './model-provider.js';

/** The settings of a workspace by which the provider of its jobs is found. */
export interface WorkspaceModelSettings {
  /** Whether each request must bring its own key. */
  readonly requireUserKey: boolean;
  /** Names or globs of models that clients may request directly, besides the default model. */
  readonly directModels: readonly string[];
  readonly provider: StoredEndpoint | null;
}

/** The columns of a provider that a worker reads. */
export interface StoredEndpoint {
  readonly id: string;
  readonly baseUrl: string;
  readonly defaultModel: string;
  readonly keyCipher: Uint8Array | null;
}

/** The stored key of a provider, and its hint. */
export interface KeyColumns {
  readonly keyCipher: Uint8Array<ArrayBuffer> | null;
  readonly keyHint: string | null;
}

/** The columns of a provider that a member changes. Absent key columns do not change. */
export interface ProviderColumns extends Partial<KeyColumns> {
  readonly name: string;
  readonly baseUrl: string;
  readonly defaultModel: string;
}

/** A provider to be inserted. It is not the default yet. */
export interface NewProviderRow extends Required<ProviderColumns> {
  readonly id: string;
}

/** The model providers of a workspace. Call `lock` before a write, so that the writes of one workspace run one after the other. */
@Injectable()
export class ModelProvidersRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** For jobs, whose right to run was checked when they were accepted. Returns null if the workspace does not exist. */
  async settingsOf(workspaceId: string): Promise<WorkspaceModelSettings | null> {
    const workspace = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.workspace.findUnique({
        where: { id: workspaceId },
        select: {
          requireUserKey: true,
          directModels: true,
          // A unique index allows one default. If there were two, all processes would use the same one.
          modelProviders: {
            where: { isDefault: true },
            orderBy: { id: 'asc' },
            take: 1,
            select: { id: true, baseUrl: true, defaultModel: true, keyCipher: true },
          },
        },
      }),
    );
    if (workspace === null) return null;
    const { requireUserKey, directModels, modelProviders } = workspace;
    return { requireUserKey, directModels, provider: modelProviders[0] ?? null };
  }

  /** The providers that the scope may read, oldest first. */
  async list(tx: PrismaTransaction, scope: Scope): Promise<ModelProvider[]> {
    return (await tx.modelProvider.findMany({ where: readable(scope), orderBy: { id: 'asc' } })).map(toModelProvider);
  }

  /** Returns null if the provider is absent or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<ModelProvider | null> {
    const row = await tx.modelProvider.findFirst({ where: { AND: [readable(scope), { id }] } });
    return row === null ? null : toModelProvider(row);
  }

  /** Until the transaction ends, other transactions cannot change providers of this workspace. */
  async lock(tx: PrismaTransaction, workspaceId: string): Promise<void> {
    await tx.$queryRaw`SELECT id FROM workspace WHERE id = ${workspaceId}::uuid FOR NO KEY UPDATE`;
  }

  async insert(tx: PrismaTransaction, workspaceId: string, row: NewProviderRow): Promise<ModelProvider> {
    return toModelProvider(await tx.modelProvider.create({ data: { workspaceId, ...row } }));
  }

  /** Returns null if the provider is absent or not readable. */
  async update(
    tx: PrismaTransaction,
    scope: Scope,
    change: { readonly id: string; readonly columns: ProviderColumns },
  ): Promise<ModelProvider | null> {
    const where = { AND: [readable(scope), { id: change.id }] };
    const data = { ...change.columns, updatedAt: new Date() };
    const [row] = await tx.modelProvider.updateManyAndReturn({ where, data });
    return row === undefined ? null : toModelProvider(row);
  }

  /** Makes this provider the only default. With null, the workspace has no default. */
  async setDefault(tx: PrismaTransaction, workspaceId: string, id: string | null): Promise<void> {
    await tx.modelProvider.updateMany({ where: { workspaceId, isDefault: true }, data: { isDefault: false } });
    if (id !== null) await tx.modelProvider.updateMany({ where: { workspaceId, id }, data: { isDefault: true } });
  }

  async delete(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    await tx.modelProvider.deleteMany({ where: { AND: [readable(scope), { id }] } });
  }

  /** Appends the audit entry in the transaction of the change. `details` never contains a key. */
  async audit(
    tx: PrismaTransaction,
    scope: Scope,
    entry: { readonly action: string; readonly provider: ModelProvider },
  ): Promise<void> {
    const { id, name, baseUrl, defaultModel, keyHint } = entry.provider;
    const { workspaceId, principal: actor } = scope;
    const details = { name, baseUrl, defaultModel, keyHint };
    const subject = { subjectType: 'ModelProvider', subjectId: id };
    await appendAudit(tx, { workspaceId, actor, action: entry.action, ...subject, details });
  }
}

function readable(scope: Scope): Prisma.ModelProviderWhereInput {
  return { AND: [scope.where('ModelProvider'), { workspaceId: scope.workspaceId }] };
}

function toModelProvider(row: ModelProviderRow): ModelProvider {
  const { id, name, baseUrl, defaultModel, keyHint, isDefault } = row;
  return {
    id,
    name,
    baseUrl,
    defaultModel,
    keyHint,
    isDefault,
    createdAt: row.createdAt.getTime(),
    updatedAt: row.updatedAt.getTime(),
  };
}
