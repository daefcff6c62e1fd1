import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { auditOf } from '../../../../test/harness/audit.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import type { Auth } from '../authentication/auth.js';
import type { MemberPrincipal, Role } from '../principal.js';

let database: TestDatabase;
let identities: TestIdentities;
let auth: Auth;
let world: Record<Role, MemberPrincipal>;
let serial = 0;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  identities = openTestIdentities(database);
  auth = identities.auth;
  world = await identities.workspaceOf(`team${++serial}`);
  identities.bus.sent.length = 0;
});
afterAll(() => database.close());

const roles = async () => {
  const { items } = await auth.members.list(world.owner, { first: 100 });
  return Object.fromEntries(items.map(({ email, role }) => [email.replace(/@.*|team\d+-/g, ''), role]));
};
const audit = async () =>
  (await auditOf(database, world.owner)).map(({ action, actor, subjectId, details }) => ({
    action,
    actor,
    subjectId,
    details,
  }));
const hints = () => identities.bus.sent.filter(({ topic }) => topic === 'access-changed').map(({ message }) => message);

describe('changing a role', () => {
  it('writes an audit entry with both roles', async () => {
    const { userId } = world.member;
    expect(await auth.members.changeRole(world.owner, { userId, role: 'admin' })).toMatchObject({ role: 'admin' });
    expect((await audit())[0]).toMatchObject({
      action: 'member-role-changed',
      subjectId: userId,
      details: { from: 'member', to: 'admin' },
    });
    expect(hints()).toHaveLength(1);
  });

  it('by an admin neither changes an owner nor creates one', async () => {
    const change = (userId: string, role: Role) => auth.members.changeRole(world.admin, { userId, role });
    await expect(change(world.owner.userId, 'viewer')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(change(world.member.userId, 'owner')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(change(world.admin.userId, 'owner')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(auth.members.remove(world.admin, world.owner.userId)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await roles()).toMatchObject({ owner: 'owner', admin: 'admin', member: 'member' });
  });

  it('returns not_found to a caller who may not read members', async () => {
    const other = await identities.workspaceOf(`other${serial}`);
    const outcome = (who: MemberPrincipal, userId: string) =>
      auth.members.changeRole(who, { userId, role: 'viewer' }).catch((error: unknown) => String(error));
    const absent = 'AppError: Member not found or unauthorized';
    expect(await outcome(world.member, world.admin.userId)).toBe(absent);
    expect(await outcome(world.viewer, newId())).toBe(absent);
    expect(await outcome(other.owner, world.member.userId)).toBe(absent);
    expect(await outcome(world.owner, 'no id')).toBe(absent);
  });

  it('fails when the caller was demoted in the meantime', async () => {
    const stale = world.admin;
    await auth.members.changeRole(world.owner, { userId: stale.userId, role: 'viewer' });
    await expect(auth.members.remove(stale, world.member.userId)).rejects.toMatchObject({ code: 'not_found' });
    await auth.members.remove(world.owner, stale.userId);
    await expect(auth.members.remove(stale, world.member.userId)).rejects.toMatchObject({ code: 'not_found' });
    expect(await roles()).toMatchObject({ member: 'member' });
  });
});

describe('the last owner', () => {
  it('cannot be demoted or removed', async () => {
    const { userId } = world.owner;
    await expect(auth.members.changeRole(world.owner, { userId, role: 'admin' })).rejects.toMatchObject({
      code: 'last_owner',
    });
    await expect(auth.members.remove(world.owner, userId)).rejects.toMatchObject({ code: 'last_owner' });
    expect(await roles()).toMatchObject({ owner: 'owner' });
    expect(hints()).toEqual([]);
  });

  it('stays when two owners demote each other at once', async () => {
    for (let round = 0; round < 5; round++) {
      await auth.members.changeRole(world.owner, { userId: world.admin.userId, role: 'owner' }).catch(() => undefined);
      await auth.members.changeRole(world.admin, { userId: world.owner.userId, role: 'owner' }).catch(() => undefined);
      await Promise.allSettled([
        auth.members.changeRole(world.owner, { userId: world.admin.userId, role: 'viewer' }),
        auth.members.changeRole(world.admin, { userId: world.owner.userId, role: 'viewer' }),
      ]);
      const { rows } = await database.postgres.withWorkspaceSql(world.owner.workspaceId, (client) =>
        client.query<{ owners: number }>(`SELECT count(*)::int AS owners FROM membership WHERE role = 'owner'`),
      );
      expect(rows[0]?.owners).toBe(1);
    }
  });

  it('can be removed once the workspace has another owner', async () => {
    await auth.members.changeRole(world.owner, { userId: world.admin.userId, role: 'owner' });
    await auth.members.remove(world.owner, world.owner.userId);
    await expect(identities.enter(`team${serial}-owner`)).rejects.toMatchObject({ code: 'not_found' });
  });
});

const leave = (who: MemberPrincipal) => auth.members.leave(who, who.workspaceId);

describe('leaving a workspace', () => {
  it('returns the same error for a foreign workspace and for an unknown one', async () => {
    const other = await identities.workspaceOf(`other${serial}`);
    const absent = { code: 'not_found', message: 'Workspace not found or unauthorized' };
    for (const id of [other.owner.workspaceId, newId(), 'no id'])
      await expect(auth.members.leave(world.member, id)).rejects.toMatchObject(absent);
  });

  it('removes the member, revokes their keys, writes an audit entry, and sends a hint after the commit', async () => {
    const { text } = await auth.apiKeys.create(world.member, { name: 'k', scopes: ['read'] });
    identities.bus.sent.length = 0;
    expect(await leave(world.member)).toMatchObject({ userId: world.member.userId, role: 'member' });
    expect((await audit())[0]).toEqual({
      action: 'member-left',
      actor: world.member.id,
      subjectId: world.member.userId,
      details: { role: 'member', keysRevoked: 1 },
    });
    expect(hints()).toEqual([{ workspaceId: world.owner.workspaceId }]);
    await expect(identities.enter(`team${serial}-member`)).rejects.toMatchObject({ code: 'not_found' });
    await expect(auth.authenticator.authenticate({ authorization: `Bearer ${text}` })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  it('works for every role', async () => {
    for (const who of [world.viewer, world.member, world.admin]) await leave(who);
    expect(await roles()).toEqual({ owner: 'owner' });
  });

  it('fails for the only owner, with a message that names the fix', async () => {
    await expect(leave(world.owner)).rejects.toMatchObject({
      code: 'last_owner',
      message: 'This is the only owner of the workspace. Make another member owner first.',
    });
    await auth.members.changeRole(world.owner, { userId: world.admin.userId, role: 'owner' });
    await leave(world.owner);
    await expect(identities.enter(`team${serial}-owner`)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('keeps one owner when two owners leave concurrently', async () => {
    await auth.members.changeRole(world.owner, { userId: world.admin.userId, role: 'owner' });
    const outcomes = await Promise.allSettled([leave(world.owner), leave(world.admin)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });
});

describe('an API key with the scope admin', () => {
  const keyOf = async (who: MemberPrincipal) => {
    const { text } = await auth.apiKeys.create(who, { name: 'k', scopes: ['read', 'admin'] });
    return auth.authenticator.authenticate({ authorization: `Bearer ${text}` });
  };

  it.each(['owner', 'admin'] as const)('of an %s changes no role', async (role) => {
    const key = await keyOf(world[role]);
    for (const about of [world.member, world.viewer, world.admin, world.owner])
      for (const to of ['viewer', 'member', 'admin', 'owner'] as const)
        await expect(auth.members.changeRole(key, { userId: about.userId, role: to })).rejects.toMatchObject({
          code: 'forbidden',
        });
    expect(await roles()).toEqual({ owner: 'owner', admin: 'admin', member: 'member', viewer: 'viewer' });
  });

  it('removes members and viewers only, and does not leave', async () => {
    const key = await keyOf(world.owner);
    await auth.members.remove(key, world.viewer.userId);
    for (const about of [world.admin, world.owner])
      await expect(auth.members.remove(key, about.userId)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(leave(key)).rejects.toMatchObject({
      code: 'forbidden',
      message: 'An API key cannot leave a workspace. Sign in with a token of the user instead.',
    });
    expect(await roles()).toEqual({ owner: 'owner', admin: 'admin', member: 'member' });
  });
});

describe('listing members', () => {
  it('returns every member exactly once over all pages', async () => {
    const seen: string[] = [];
    let after: string | undefined;
    for (let more = true; more;) {
      const page = await auth.members.list(world.admin, { first: 3, after });
      seen.push(...page.items.map(({ userId }) => userId));
      after = seen.at(-1);
      more = page.hasMore;
    }
    const everybody = [world.owner, world.admin, world.member, world.viewer].map(({ userId }) => userId);
    expect(seen).toEqual(everybody.sort());
  });

  it('returns no members to a caller without the right to read them', async () => {
    for (const who of [world.member, world.viewer])
      expect(await auth.members.list(who, { first: 10 })).toEqual({ items: [], hasMore: false });
  });

  it('refuses an invalid cursor', async () => {
    await expect(auth.members.list(world.owner, { first: 1, after: "' OR true" })).rejects.toMatchObject({
      code: 'bad_request',
    });
  });
});
