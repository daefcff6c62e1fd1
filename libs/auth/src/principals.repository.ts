import { Injectable } from '@nestjs/common';

import { isId, Postgres, systemClock, TimedCache } from '#platform';

import { isKeyScope, isRole, keyPrincipal, type MemberPrincipal, userPrincipal } from './principal.js';

interface Row {
  readonly id: string;
  readonly userId: string;
  readonly role: string;
  readonly prefix: string | null;
  readonly scopes: readonly string[] | null;
  readonly expiresAt: Date | null;
}

const userSql = `SELECT m.user_id AS id, m.user_id AS "userId", m.role, NULL AS prefix, NULL::text[] AS scopes,
    NULL::timestamptz AS "expiresAt"
  FROM membership m WHERE m.workspace_id = $1 AND m.user_id = $2`;

const keySql = `SELECT k.id, k.user_id AS "userId", m.role, k.prefix, k.scopes, k.expires_at AS "expiresAt"
  FROM api_key k JOIN membership m ON m.workspace_id = k.workspace_id AND m.user_id = k.user_id
 WHERE k.workspace_id = $1 AND k.id = $2 AND k.revoked_at IS NULL
   AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())`;

/**
 * Principals by their id, as they are now: for work that goes on long after the request that started it, and acts with the
 * rights of whoever asked for it. An answer is at most a second old.
 */
@Injectable()
export class PrincipalsRepository {
  private readonly cache = new TimedCache<MemberPrincipal | null>({ clock: systemClock, ttlMs: 1_000, max: 10_000 });

  constructor(private readonly postgres: Postgres) {}

  /** `id` as on a job: `user:<id>` or `key:<id>`. Null: no member any more, or the key was revoked or ran out. */
  find(workspaceId: string, id: string): Promise<MemberPrincipal | null> {
    return this.cache.get(`${workspaceId}|${id}`, () => this.read(workspaceId, id));
  }

  private async read(workspaceId: string, principalId: string): Promise<MemberPrincipal | null> {
    const [kind, id = ''] = principalId.split(':', 2);
    if ((kind !== 'user' && kind !== 'key') || !isId(id)) return null;
    const [row] = await this.postgres.readInWorkspace<Row>(workspaceId, {
      name: `principal-${kind}`,
      text: kind === 'user' ? userSql : keySql,
      values: [workspaceId, id],
    });
    if (row === undefined || !isRole(row.role)) return null;
    const member = { workspaceId, userId: row.userId, role: row.role };
    // A person's session may be over by now; what matters is that the person still belongs here.
    if (row.prefix === null) return userPrincipal({ ...member, expiresAt: Number.MAX_SAFE_INTEGER });
    const scopes = (row.scopes ?? []).filter(isKeyScope);
    const expiresAt = row.expiresAt?.getTime() ?? null;
    return keyPrincipal({ ...member, keyId: row.id, prefix: row.prefix, scopes, expiresAt });
  }
}
