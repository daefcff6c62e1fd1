import type { ApiKeyRow, Prisma, PrismaTransaction, Scope } from '#platform';

import { isKeyScope, type KeyScope } from '../principal.js';
import type { MintedKey } from './api-key-codec.js';

/** What may be told of a key; never its secret. All instants are ms since the epoch. */
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

/** A key to be stored. */
export interface NewApiKey extends Pick<ApiKey, 'id' | 'userId' | 'name' | 'scopes' | 'expiresAt'> {
  readonly workspaceId: string;
  readonly minted: Pick<MintedKey, 'prefix' | 'hash'>;
}

/** The keys of a workspace. The look-up by prefix is `IdentityRepository.keyByPrefix`. */
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

  /** In the order of ids, after `after`: those that the scope may read. */
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

  /** Null: absent, or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<ApiKey | null> {
    const row = await tx.apiKey.findFirst({ where: { AND: [readable(scope), { id }] } });
    return row === null ? null : toApiKey(row);
  }

  /** Revokes one key. False: it was revoked already, and keeps its instant. */
  async revoke(tx: PrismaTransaction, key: { workspaceId: string; id: string }, at: number): Promise<boolean> {
    const where = { workspaceId: key.workspaceId, id: key.id, revokedAt: null };
    const { count } = await tx.apiKey.updateMany({ where, data: { revokedAt: new Date(at) } });
    return count > 0;
  }

  /** Revokes what acts as this member; returns how many keys that were. */
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
