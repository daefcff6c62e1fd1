import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { auditOf } from '../../../../test/harness/audit.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { emailOf, openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import type { Auth } from '../authentication/auth.js';
import { KEY_SCOPES, type MemberPrincipal, type Role } from '../principal.js';

let database: TestDatabase;
let identities: TestIdentities;
let auth: Auth;
let world: Record<Role, MemberPrincipal>;
let serial = 0;
let guest: string;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  identities = openTestIdentities(database);
  auth = identities.auth;
  world = await identities.workspaceOf(`host${++serial}`);
  guest = `guest${serial}`;
});
afterAll(() => database.close());

const identityOf = async (subject: string, claims = {}) =>
  auth.authenticator.identify({ authorization: await identities.bearer(subject, claims) });
const invite = (who: MemberPrincipal, role: Role, subject = guest) =>
  auth.invitations.invite(who, { email: emailOf(subject), role });
const received = async (subject = guest) =>
  (await auth.invitations.received(await identityOf(subject), { first: 100 })).items;
const listed = async () => (await auth.invitations.list(world.owner, { first: 100 })).items;
const audit = async () => (await auditOf(database, world.owner)).map(({ action, actor }) => ({ action, actor }));
const keyOf = async (who: MemberPrincipal) => {
  const { text } = await auth.apiKeys.create(who, { name: 'k', scopes: KEY_SCOPES });
  return auth.authenticator.authenticate({ authorization: `Bearer ${text}` });
};
const users = async (email: string) => {
  const client = await database.postgres.api.connect();
  client.release();
  return (await database.prisma.withWorkspace(world.owner, (tx) => tx.user.findMany({ where: { email } }))).length;
};

describe('an invitation', () => {
  it('gives no right before it is accepted, and the offered role after', async () => {
    const { id } = await invite(world.owner, 'member');
    await expect(identities.enter(guest)).rejects.toMatchObject({ code: 'not_found' });
    expect(await auth.invitations.accept(await identityOf(guest), id)).toMatchObject({
      workspaceId: world.owner.workspaceId,
      member: { email: emailOf(guest), role: 'member' },
    });
    expect(await identities.enter(guest)).toMatchObject({ role: 'member', workspaceId: world.owner.workspaceId });
    expect([await listed(), await received()]).toEqual([[], []]);
  });

  it('does not require the invited user of another workspace to choose a workspace', async () => {
    const elsewhere = await identities.workspaceOf(`elsewhere${serial}`);
    await invite(world.owner, 'admin', `elsewhere${serial}-member`);
    expect(await identities.enter(`elsewhere${serial}-member`)).toMatchObject({
      workspaceId: elsewhere.owner.workspaceId,
    });
  });

  it('shows the inviter the same fields for a known and for an unknown address', async () => {
    await identities.workspaceOf(`known${serial}`);
    const typed = (email: string) => auth.invitations.invite(world.admin, { email, role: 'viewer' });
    const known = await typed(` Known${serial}-Owner@Example.org `);
    const unknown = await typed(`unknown${serial}@example.org`);
    const shown = (invitation: object) =>
      Object.fromEntries(Object.entries(invitation).filter(([name]) => !['id', 'email', 'createdAt'].includes(name)));
    expect(shown(known)).toEqual(shown(unknown));
    expect(known).toMatchObject({ email: `known${serial}-owner@example.org`, role: 'viewer' });
    expect(await users(`unknown${serial}@example.org`)).toBe(0);
    expect(JSON.stringify(await listed())).not.toContain(`known${serial}-owner"`);
  });

  it('writes an audit entry for each step and a hint for each membership change', async () => {
    const { id } = await invite(world.admin, 'member');
    await auth.invitations.accept(await identityOf(guest), id);
    const joined = await identities.enter(guest);
    const declined = await invite(world.owner, 'member', `${guest}x`);
    const person = await identityOf(`${guest}x`);
    await auth.invitations.decline(person, declined.id);
    await auth.invitations.revoke(world.owner, (await invite(world.owner, 'viewer', `${guest}y`)).id);
    expect((await audit()).slice(0, 6)).toEqual([
      { action: 'invitation-revoked', actor: world.owner.id },
      { action: 'invitation-created', actor: world.owner.id },
      { action: 'invitation-declined', actor: person.id },
      { action: 'invitation-created', actor: world.owner.id },
      { action: 'member-added', actor: joined.id },
      { action: 'invitation-created', actor: world.admin.id },
    ]);
    expect(identities.bus.sent.at(-1)?.topic).toBe('access-changed');
  });

  it('ends when a second invitation of the same address replaces it', async () => {
    const first = await invite(world.owner, 'viewer');
    const second = await invite(world.owner, 'member');
    expect((await listed()).map(({ id, role }) => [id, role])).toEqual([[second.id, 'member']]);
    await expect(auth.invitations.accept(await identityOf(guest), first.id)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('cannot address a member of the workspace', async () => {
    await expect(invite(world.owner, 'admin', `host${serial}-viewer`)).rejects.toMatchObject({
      code: 'already_member',
      field: 'email',
    });
  });

  it('can be created by owners and admins only, with the role owner by owners only', async () => {
    for (const who of [world.member, world.viewer])
      await expect(invite(who, 'viewer')).rejects.toMatchObject({ code: 'not_found' });
    await expect(invite(world.admin, 'owner')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(invite(world.owner, 'owner')).resolves.toMatchObject({ role: 'owner' });
    await expect(invite(world.admin, 'viewer')).rejects.toMatchObject({ code: 'forbidden' });
  });

  it.each(['owner', 'admin'] as const)('by an API key of an %s offers MEMBER and VIEWER only', async (role) => {
    const key = await keyOf(world[role]);
    for (const above of ['admin', 'owner'] as const)
      await expect(invite(key, above)).rejects.toMatchObject({ code: 'forbidden' });
    for (const below of ['member', 'viewer'] as const)
      await expect(invite(key, below)).resolves.toMatchObject({ role: below });
  });

  it.each([
    { email: 'no address', role: 'member' },
    { email: 'a@b.example', role: 'emperor' },
    { email: 'a@b.example', role: 'member', workspaceId: newId() },
  ])('refuses the input %j', async (input) => {
    await expect(
      auth.invitations.invite(world.owner, input as { email: string; role: Role }), // wrong on purpose
    ).rejects.toMatchObject({ code: 'bad_request' });
  });
});

describe('accepting an invitation', () => {
  it('adds the person whose token has the verified address', async () => {
    const { id } = await invite(world.owner, 'member');
    const accept = async (subject: string, claims = {}) =>
      auth.invitations.accept(await identityOf(subject, claims), id);
    await expect(accept(`other${serial}`)).rejects.toMatchObject({ code: 'not_found' });
    await expect(accept(guest, { email_verified: false })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(accept(`other${serial}`, { email: emailOf(guest), email_verified: 'true' })).rejects.toMatchObject({
      code: 'forbidden',
    });
    expect(await received(`other${serial}`)).toEqual([]);
    expect(await accept(guest)).toMatchObject({ member: { role: 'member' } });
  });

  it('uses the current address of the token, not the one of its first sign-in', async () => {
    await identityOf(guest);
    const { id } = await invite(world.owner, 'member');
    const moved = await identityOf(guest, { email: emailOf(`moved${serial}`) });
    await expect(auth.invitations.accept(moved, id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('refuses an API key of the invited person', async () => {
    const elsewhere = await identities.workspaceOf(`busy${serial}`);
    const { id } = await invite(world.owner, 'member', `busy${serial}-owner`);
    const key = await keyOf(elsewhere.owner);
    expect((await auth.invitations.received(key, { first: 10 })).items).toEqual([]);
    for (const settle of ['accept', 'decline'] as const)
      await expect(auth.invitations[settle](key, id)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('succeeds once when tried several times concurrently', async () => {
    const { id } = await invite(world.owner, 'member');
    const person = await identityOf(guest);
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => auth.invitations.accept(person, id)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await audit()).filter(({ action }) => action === 'member-added')).toHaveLength(4); // three of the workspace's own
  });

  it('fails once the invitation is revoked, declined or expired', async () => {
    const person = await identityOf(guest);
    const revoked = await invite(world.owner, 'member');
    await auth.invitations.revoke(world.admin, revoked.id);
    const declined = await invite(world.owner, 'member');
    await auth.invitations.decline(person, declined.id);
    const expired = await invite(world.owner, 'member');
    identities.clock.advance(14 * 86_400_000);
    const later = await identityOf(guest);
    expect(await received()).toEqual([]);
    for (const { id } of [revoked, declined, expired])
      await expect(auth.invitations.accept(later, id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(identities.enter(guest)).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each<[string, (inviter: MemberPrincipal, owner: MemberPrincipal) => Promise<unknown>]>([
    ['is removed', (inviter, owner) => auth.members.remove(owner, inviter.userId)],
    ['leaves', (inviter) => auth.members.leave(inviter, inviter.workspaceId)],
    ['is demoted', (inviter, owner) => auth.members.changeRole(owner, { userId: inviter.userId, role: 'member' })],
  ])('fails once the inviter %s', async (_what, happens) => {
    const { id } = await invite(world.admin, 'admin');
    await happens(world.admin, world.owner);
    await expect(auth.invitations.accept(await identityOf(guest), id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('keeps the role of a person who became a member in the meantime', async () => {
    const { id } = await invite(world.owner, 'viewer', `moving${serial}`);
    await identities.join(world.owner, guest, 'admin');
    const person = await identityOf(guest, { email: emailOf(`moving${serial}`) });
    expect(await auth.invitations.accept(person, id)).toMatchObject({ member: { role: 'admin' } });
  });
});

describe('revoking an invitation', () => {
  it('requires the right to create it, and returns not_found without the right to read it', async () => {
    const { id } = await invite(world.owner, 'owner');
    const stranger = (await identities.workspaceOf(`stranger${serial}`)).owner;
    await expect(auth.invitations.revoke(world.admin, id)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(auth.invitations.revoke(await keyOf(world.owner), id)).rejects.toMatchObject({ code: 'forbidden' });
    for (const who of [world.member, world.viewer, stranger])
      await expect(auth.invitations.revoke(who, id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await auth.invitations.revoke(world.owner, id)).toMatchObject({ id, role: 'owner' });
  });
});

describe('listing invitations', () => {
  it('returns pages to admins, and nothing to members and viewers', async () => {
    for (const n of [1, 2, 3]) await invite(world.owner, 'member', `${guest}-${n}`);
    const first = await auth.invitations.list(world.admin, { first: 2 });
    const rest = await auth.invitations.list(world.admin, { first: 2, after: first.items.at(-1)?.id });
    expect([...first.items, ...rest.items].map(({ email }) => email)).toEqual(
      [1, 2, 3].map((n) => emailOf(`${guest}-${n}`)),
    );
    expect([first.hasMore, rest.hasMore]).toEqual([true, false]);
    for (const who of [world.member, world.viewer])
      expect((await auth.invitations.list(who, { first: 10 })).items).toEqual([]);
  });

  it('shows the invited person their invitations in all workspaces, newest first', async () => {
    const second = (await identities.workspaceOf(`second${serial}`)).owner;
    await invite(world.admin, 'viewer');
    await auth.invitations.invite(second, { email: emailOf(guest), role: 'owner' });
    expect(await received()).toMatchObject([
      { workspaceName: `second${serial}`, role: 'owner', invitedBy: emailOf(`second${serial}-owner`) },
      { workspaceName: `host${serial}`, role: 'viewer', invitedBy: emailOf(`host${serial}-admin`) },
    ]);
    const page = await auth.invitations.received(await identityOf(guest), { first: 1 });
    expect(page).toMatchObject({ hasMore: true, items: [{ workspaceName: `second${serial}` }] });
    const after = await auth.invitations.received(await identityOf(guest), { first: 1, after: page.items[0]?.id });
    expect(after).toMatchObject({ hasMore: false, items: [{ workspaceName: `host${serial}` }] });
  });
});
