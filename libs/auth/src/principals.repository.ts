import { Injectable } from '@nestjs/common';

import { isId, PrismaService, type PrismaTransaction, systemClock, TimedCache } from '#platform';

import { isKeyScope, isRole, keyPrincipal, type MemberPrincipal, type Role, userPrincipal } from './principal.js';

/**
 * Finds principals by their id, as they are now: for work that runs long after the request that started it, with the rights of its requester.
 * A result is at most a second old.
 */
@Injectable()
export class PrincipalsRepository {
  private readonly cache = new TimedCache<MemberPrincipal | null>({ clock: systemClock, ttlMs: 1_000, max: 10_000 });

  constructor(private readonly prisma: PrismaService) {}

  /**
   * `id` as stored on a job: `user:<id>` or `key:<id>`. Returns null if the user is no longer a member, or the key was revoked or has
   * expired.
   */
  find(workspaceId: string, id: string): Promise<MemberPrincipal | null> {
    return this.cache.get(`${workspaceId}|${id}`, () => this.read(workspaceId, id));
  }

  private async read(workspaceId: string, principalId: string): Promise<MemberPrincipal | null> {
    const [kind, id = ''] = principalId.split(':', 2);
    if ((kind !== 'user' && kind !== 'key') || !isId(id)) return null;
    const find = kind === 'user' ? findUser : findKey;
    return this.prisma.withWorkspace({ workspaceId }, (tx) => find(tx, workspaceId, id));
  }
}

async function findUser(tx: PrismaTransaction, workspaceId: string, userId: string): Promise<MemberPrincipal | null> {
  const role = await roleOf(tx, workspaceId, userId);
  // The token of the request may have expired by now; the user only has to be a member still.
  return role === null ? null : userPrincipal({ workspaceId, userId, role, expiresAt: Number.MAX_SAFE_INTEGER });
}

async function findKey(tx: PrismaTransaction, workspaceId: string, id: string): Promise<MemberPrincipal | null> {
  const key = await tx.apiKey.findUnique({
    where: { workspaceId_id: { workspaceId, id }, revokedAt: null },
    select: { userId: true, prefix: true, scopes: true, expiresAt: true },
  });
  const expiresAt = key?.expiresAt?.getTime() ?? null;
  if (key === null || (expiresAt !== null && expiresAt <= systemClock.now())) return null;
  const { userId, prefix } = key;
  const role = await roleOf(tx, workspaceId, userId);
  const scopes = key.scopes.filter(isKeyScope);
  return role === null ? null : keyPrincipal({ workspaceId, userId, role, keyId: id, prefix, scopes, expiresAt });
}

async function roleOf(tx: PrismaTransaction, workspaceId: string, userId: string): Promise<Role | null> {
  const where = { workspaceId_userId: { workspaceId, userId } };
  const role = (await tx.membership.findUnique({ where, select: { role: true } }))?.role;
  return role !== undefined && isRole(role) ? role : null;
}
