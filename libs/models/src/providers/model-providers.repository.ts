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

/** What of a workspace decides where its jobs ask for models. */
export interface WorkspaceModelSettings {
  /** The request's own key, or none. */
  readonly requireUserKey: boolean;
  /** Names or globs of models that may be asked for directly, besides the default one. */
  readonly directModels: readonly string[];
  readonly provider: StoredEndpoint | null;
}

/** A provider as the worker needs it. */
export interface StoredEndpoint {
  readonly id: string;
  readonly baseUrl: string;
  readonly defaultModel: string;
  readonly keyCipher: Uint8Array | null;
}

/** How the key of a provider is kept. */
export interface KeyColumns {
  readonly keyCipher: Uint8Array<ArrayBuffer> | null;
  readonly keyHint: string | null;
}

/** The columns of a provider that people choose; without the key's, that stays. */
export interface ProviderColumns extends Partial<KeyColumns> {
  readonly name: string;
  readonly baseUrl: string;
  readonly defaultModel: string;
}

/** A provider to be stored; never the default yet. */
export interface NewProviderRow extends Required<ProviderColumns> {
  readonly id: string;
}

/** The model providers of a workspace. Writes run one after the other per workspace, after `lock`. */
@Injectable()
export class ModelProvidersRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** For jobs, whose right to run was checked when they were accepted. Null: the workspace does not exist. */
  async settingsOf(workspaceId: string): Promise<WorkspaceModelSettings | null> {
    const workspace = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.workspace.findUnique({
        where: { id: workspaceId },
        select: {
          requireUserKey: true,
          directModels: true,
          // An index allows one default; if there were two, all processes would choose the same one.
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

  /** Those that the scope may read, in the order of their making. */
  async list(tx: PrismaTransaction, scope: Scope): Promise<ModelProvider[]> {
    return (await tx.modelProvider.findMany({ where: readable(scope), orderBy: { id: 'asc' } })).map(toModelProvider);
  }

  /** Null: absent, or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<ModelProvider | null> {
    const row = await tx.modelProvider.findFirst({ where: { AND: [readable(scope), { id }] } });
    return row === null ? null : toModelProvider(row);
  }

  /** Keeps others from changing providers of this workspace until the transaction ends. */
  async lock(tx: PrismaTransaction, workspaceId: string): Promise<void> {
    await tx.$queryRaw`SELECT id FROM workspace WHERE id = ${workspaceId}::uuid FOR NO KEY UPDATE`;
  }

  async insert(tx: PrismaTransaction, workspaceId: string, row: NewProviderRow): Promise<ModelProvider> {
    return toModelProvider(await tx.modelProvider.create({ data: { workspaceId, ...row } }));
  }

  /** Null: absent, or not readable. */
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

  /** Makes this one the default and the others not; null: none is. */
  async setDefault(tx: PrismaTransaction, workspaceId: string, id: string | null): Promise<void> {
    await tx.modelProvider.updateMany({ where: { workspaceId, isDefault: true }, data: { isDefault: false } });
    if (id !== null) await tx.modelProvider.updateMany({ where: { workspaceId, id }, data: { isDefault: true } });
  }

  async delete(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    await tx.modelProvider.deleteMany({ where: { AND: [readable(scope), { id }] } });
  }

  /** Runs in the transaction of the change that it records. `details` never contains a key. */
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
