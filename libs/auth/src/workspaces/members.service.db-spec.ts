import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { emailOf, openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import type { Auth } from '../auth.js';
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
  (await auth.workspaces.listAudit(world.owner, { first: 100 })).items.map(({ action, actor, subjectId, details }) => ({
    action,
    actor,
    subjectId,
    details,
  }));
const hints = () => identities.bus.sent.filter(({ topic }) => topic === 'access-changed').map(({ message }) => message);

describe('adding', () => {
  it('makes a member, audits it, and hints after the commit', async () => {
    const added = await auth.members.add(world.admin, { email: ` New${serial}@Example.org `, role: 'member' });
    expect(added).toMatchObject({ email: `new${serial}@example.org`, role: 'member', name: '' });
    expect((await audit())[0]).toEqual({
      action: 'member-added',
      actor: world.admin.id,
      subjectId: added.userId,
      details: { role: 'member' },
    });
    expect(hints()).toEqual([{ workspaceId: world.owner.workspaceId }]);
  });

  it('answers alike for a user who is known elsewhere and one who is not', async () => {
    const known = await identities.workspaceOf(`elsewhere${serial}`);
    const shape = async (email: string) => Object.keys(await auth.members.add(world.owner, { email, role: 'viewer' }));
    expect(await shape(emailOf(`elsewhere${serial}-owner`))).toEqual(await shape(`stranger${serial}@example.org`));
    expect(await identities.enter(`elsewhere${serial}-owner`, known.owner.workspaceId)).toMatchObject({
      role: 'owner',
    });
  });

  it('refuses somebody twice, also at once', async () => {
    const email = `twice${serial}@example.org`;
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map(() => auth.members.add(world.owner, { email, role: 'viewer' })),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    await expect(auth.members.add(world.owner, { email, role: 'member' })).rejects.toMatchObject({
      code: 'already_member',
    });
  });

  it('is for owners and admins, and an admin makes no owner', async () => {
    const email = `x${serial}@example.org`;
    for (const who of [world.member, world.viewer])
      await expect(auth.members.add(who, { email, role: 'viewer' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(auth.members.add(world.admin, { email, role: 'owner' })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(auth.members.add(world.owner, { email, role: 'owner' })).resolves.toMatchObject({ role: 'owner' });
  });

  it.each([
    { email: 'no address', role: 'member' },
    { email: 'a@b.example', role: 'emperor' },
    { email: 'a@b.example', role: 'member', workspaceId: newId() },
  ])('refuses the input %j', async (input) => {
    await expect(auth.members.add(world.owner, input as { email: string; role: Role })).rejects.toMatchObject({
      code: 'bad_request',
    }); // wrong on purpose
  });
});

describe('changing a role', () => {
  it('is audited with both roles', async () => {
    const { userId } = world.member;
    expect(await auth.members.changeRole(world.owner, { userId, role: 'admin' })).toMatchObject({ role: 'admin' });
    expect((await audit())[0]).toMatchObject({
      action: 'member-role-changed',
      subjectId: userId,
      details: { from: 'member', to: 'admin' },
    });
    expect(hints()).toHaveLength(1);
  });

  it('never touches an owner by an admin, nor makes one', async () => {
    const change = (userId: string, role: Role) => auth.members.changeRole(world.admin, { userId, role });
    await expect(change(world.owner.userId, 'viewer')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(change(world.member.userId, 'owner')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(change(world.admin.userId, 'owner')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(auth.members.remove(world.admin, world.owner.userId)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await roles()).toMatchObject({ owner: 'owner', admin: 'admin', member: 'member' });
  });

  it('looks absent to those who may not read members, as it does for strangers', async () => {
    const other = await identities.workspaceOf(`other${serial}`);
    const outcome = (who: MemberPrincipal, userId: string) =>
      auth.members.changeRole(who, { userId, role: 'viewer' }).catch((error: unknown) => String(error));
    const absent = 'AppError: Member not found or unauthorized';
    expect(await outcome(world.member, world.admin.userId)).toBe(absent);
    expect(await outcome(world.viewer, newId())).toBe(absent);
    expect(await outcome(other.owner, world.member.userId)).toBe(absent);
    expect(await outcome(world.owner, 'no id')).toBe(absent);
  });

  it('by somebody demoted meanwhile does not happen', async () => {
    const stale = world.admin;
    await auth.members.changeRole(world.owner, { userId: stale.userId, role: 'viewer' });
    await expect(auth.members.remove(stale, world.member.userId)).rejects.toMatchObject({ code: 'not_found' });
    await auth.members.remove(world.owner, stale.userId);
    await expect(auth.members.remove(stale, world.member.userId)).rejects.toMatchObject({ code: 'not_found' });
    expect(await roles()).toMatchObject({ member: 'member' });
  });
});

describe('the last owner', () => {
  it('is neither demoted nor removed', async () => {
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

  it('may go once there is another', async () => {
    await auth.members.changeRole(world.owner, { userId: world.admin.userId, role: 'owner' });
    await auth.members.remove(world.owner, world.owner.userId);
    await expect(identities.enter(`team${serial}-owner`)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('listing', () => {
  it('goes page by page and misses nobody', async () => {
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

  it('shows nobody to those who may not read members', async () => {
    for (const who of [world.member, world.viewer])
      expect(await auth.members.list(who, { first: 10 })).toEqual({ items: [], hasMore: false });
  });

  it('refuses a cursor that is not ours', async () => {
    await expect(auth.members.list(world.owner, { first: 1, after: "' OR true" })).rejects.toMatchObject({
      code: 'bad_request',
    });
  });
});
