import type { ApiKeyRow, Prisma, PrismaTransaction, Scope } from '#platform';

import { isKeyScope, type KeyScope } from '../principal.js';
import type { MintedKey } from './api-key-codec.js';

/** The fields of a key that readers may see, without its secret. Instants in ms since the epoch. */
export interface ApiKey {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  /** The public part; the key starts with `nsk_<prefix>_`. */
  readonly prefix: string;
  readonly scopes: readonly KeyScope[];
  readonly expiresAt: number | null;
  /** Written at most once a minute. */
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
  readonly createdAt: number;
}

/** Identifies a key of any workspace. */
export interface KeyRef {
  readonly workspaceId: string;
  readonly id: string;
}

/** A key to be inserted. */
export interface NewApiKey extends Pick<ApiKey, 'id' | 'userId' | 'name' | 'scopes' | 'expiresAt'> {
  readonly workspaceId: string;
  /** The id of the key that creates it; null if a person does. */
  readonly madeBy: string | null;
  readonly minted: Pick<MintedKey, 'prefix' | 'hash'>;
}

/** The keys of a workspace. The look-up by prefix is `IdentityRepository.keysByPrefix`. */
export class ApiKeysRepository {
  async insert(tx: PrismaTransaction, key: NewApiKey): Promise<ApiKey> {
    const { minted, scopes, expiresAt, ...rest } = key;
    const data = {
      ...rest,
      ...minted,
      scopes: [...scopes],
      expiresAt: expiresAt === null ? null : new Date(expiresAt),
    };
    return toApiKey(await tx.apiKey.create({ data: { ...data, prefix: minted.prefix, hash: minted.hash } }));
  }

  /** Counts the usable keys of the workspace, and those of the user in it. Until the transaction ends, no other transaction counts them. */
  async countUsable(tx: PrismaTransaction, { workspaceId, userId }: { workspaceId: string; userId: string }) {
    await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended('API keys of ' || ${workspaceId}, 0))::text`;
    const [row] = await tx.$queryRaw<{ all: number; own: number }[]>`
      SELECT count(*)::int AS all, (count(*) FILTER (WHERE user_id = ${userId}::uuid))::int AS own FROM api_key
       WHERE workspace_id = ${workspaceId}::uuid AND revoked_at IS NULL
         AND (expires_at IS NULL OR expires_at > clock_timestamp())`;
    return row ?? { all: 0, own: 0 };
  }

  /** The keys that the scope may read, ordered by id, after `after`. */
  async list(
    tx: PrismaTransaction,
    scope: Scope,
    page: { take: number; after: string | undefined },
  ): Promise<ApiKey[]> {
    const beyond = page.after === undefined ? {} : { id: { gt: page.after } };
    const rows = await tx.apiKey.findMany({
      where: { AND: [readable(scope), beyond] },
      orderBy: { id: 'asc' },
      take: page.take,
    });
    return rows.map(toApiKey);
  }

  /** Returns null if the key is absent or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<ApiKey | null> {
    const row = await tx.apiKey.findFirst({ where: { AND: [readable(scope), { id }] } });
    return row === null ? null : toApiKey(row);
  }

  /** Until the transaction ends, no key is revoked. For a transaction in which a key creates a key, perhaps in another workspace. */
  async lockForMaking(tx: PrismaTransaction): Promise<void> {
    await tx.$queryRaw`SELECT 1 FROM pg_advisory_xact_lock_shared(hashtextextended('keys made with keys', 20261123))`;
  }

  /** Until the transaction ends, no key creates a key. So a revocation finds every key that was created with the revoked one. */
  async lockForRevoking(tx: PrismaTransaction): Promise<void> {
    await tx.$queryRaw`SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('keys made with keys', 20261123))`;
  }

  /** Whether the key, in any workspace, is revoked or absent. */
  async isRevoked(tx: PrismaTransaction, { workspaceId, id }: KeyRef): Promise<boolean> {
    const [row] = await tx.$queryRaw<{ revoked: boolean }[]>`
      SELECT identity_key_revoked(${workspaceId}::uuid, ${id}::uuid) AS revoked`;
    return row?.revoked !== false;
  }

  /**
   * Revokes one key and, in all workspaces, the keys that were created with it, directly or indirectly. Returns the keys that were still
   * valid; a key that was revoked before keeps its time of revocation.
   */
  async revoke(tx: PrismaTransaction, { workspaceId, id }: KeyRef, at: number): Promise<KeyRef[]> {
    return tx.$queryRaw<KeyRef[]>`
      SELECT workspace_id AS "workspaceId", id
        FROM identity_revoke_key(${workspaceId}::uuid, ${id}::uuid, ${new Date(at)})`;
  }

  /** Revokes all keys that act as this member, and returns how many. */
  async revokeAllOf(tx: PrismaTransaction, member: { workspaceId: string; userId: string }): Promise<number> {
    const where = { workspaceId: member.workspaceId, userId: member.userId, revokedAt: null };
    return (await tx.apiKey.updateMany({ where, data: { revokedAt: new Date() } })).count;
  }
}

function readable(scope: Scope): Prisma.ApiKeyWhereInput {
  return { AND: [scope.where('ApiKey'), { workspaceId: scope.workspaceId }] };
}

function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    userId: row.userId,
    name: row.name,
    prefix: row.prefix,
    scopes: row.scopes.filter(isKeyScope),
    expiresAt: row.expiresAt?.getTime() ?? null,
    lastUsedAt: row.lastUsedAt?.getTime() ?? null,
    revokedAt: row.revokedAt?.getTime() ?? null,
    createdAt: row.createdAt.getTime(),
  };
}
