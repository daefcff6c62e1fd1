import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { auditOf } from '../../../../test/harness/audit.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import type { Auth } from '../authentication/auth.js';
import { KEY_SCOPES, type KeyScope, type MemberPrincipal, type Role } from '../principal.js';

let database: TestDatabase;
let identities: TestIdentities;
let auth: Auth;
let world: Record<Role, MemberPrincipal>;
let other: Record<Role, MemberPrincipal>;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  auth = identities.auth;
  world = await identities.workspaceOf('keys');
  other = await identities.workspaceOf('others');
});
afterAll(() => database.close());

const make = (who: MemberPrincipal, scopes: KeyScope[], expiresAt?: number) =>
  auth.apiKeys.create(who, { name: 'k', scopes, expiresAt });
const enter = (text: string) => auth.authenticator.authenticate({ authorization: `Bearer ${text}` });

describe('ApiKeysService.create', () => {
  it('returns the secret of a key once, and stores only prefix and digest', async () => {
    const { key, text } = await make(world.owner, ['read']);
    expect(text.startsWith(`nsk_${key.prefix}_`)).toBe(true);
    expect(JSON.stringify(key)).not.toContain(text.slice(-43));
    const { rows } = await database.postgres.withWorkspaceSql(world.owner.workspaceId, (client) =>
      client.query<{ row: string }>(
        `SELECT to_jsonb(k)::text AS row FROM api_key k UNION ALL SELECT to_jsonb(a)::text FROM audit_entry a`,
      ),
    );
    expect(rows.map(({ row }) => row).join()).not.toContain(text.slice(-43));
  });

  it('writes an audit entry, and so does the revocation of the key', async () => {
    const { key } = await make(world.admin, ['read', 'write']);
    await auth.apiKeys.revoke(world.admin, key.id);
    await auth.apiKeys.revoke(world.admin, key.id);
    const items = (await auditOf(database, world.owner)).slice(0, 2);
    expect(items.map(({ action, actor, subjectId }) => [action, actor, subjectId])).toEqual([
      ['api-key-revoked', world.admin.id, key.id],
      ['api-key-created', world.admin.id, key.id],
    ]);
    expect(items[1]?.details).toEqual({ name: 'k', prefix: key.prefix, scopes: ['read', 'write'] });
  });

  it.each<[Role, KeyScope[]]>([
    ['owner', ['read', 'write', 'admin', 'approve']],
    ['admin', ['read', 'write', 'admin', 'approve']],
    ['member', ['read', 'write', 'approve']],
  ])('grants no scope beyond the role of the member: %s', async (role, usable) => {
    for (const scope of KEY_SCOPES) {
      const made = make(world[role], [scope]).then(
        () => 'made',
        (error: unknown) => (error as { code: string }).code, // every refusal is an AppError
      );
      expect(await made).toBe(usable.includes(scope) ? 'made' : 'scope_exceeds_role');
    }
  });

  it('rejects viewers', async () => {
    await expect(make(world.viewer, ['read'])).rejects.toMatchObject({ code: 'not_found' });
  });

  it('rejects a scope that the creating key lacks, and ends the new key no later than the creating key', async () => {
    const end = identities.clock.now() + 60_000;
    const maker = await enter((await make(world.owner, ['read', 'admin'], end)).text);
    await expect(make(maker, ['write'])).rejects.toMatchObject({ code: 'scope_exceeds_role' });
    expect((await make(maker, ['read'])).key.expiresAt).toBe(end);
    expect((await make(maker, ['read'], end + 1)).key.expiresAt).toBe(end);
    expect((await make(maker, ['read'], end - 1)).key.expiresAt).toBe(end - 1);
  });

  it('rejects a creating key without the scope admin', async () => {
    const maker = await enter((await make(world.owner, ['read', 'write', 'approve'])).text);
    await expect(make(maker, ['read'])).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each([
    { name: '', scopes: ['read'] },
    { name: 'k', scopes: [] },
    { name: 'k', scopes: ['root'] },
    { name: 'k', scopes: ['read'], expiresAt: 1 },
    { name: 'k', scopes: ['read'], userId: newId() },
  ])('rejects the input %j', async (input) => {
    const wrong = input as { name: string; scopes: KeyScope[] }; // on purpose
    await expect(auth.apiKeys.create(world.owner, wrong)).rejects.toMatchObject({ code: 'bad_request' });
  });
});

describe('keys', () => {
  it('of a member are listed to that member, all to admins, none to others', async () => {
    const { key } = await make(world.member, ['read']);
    const listed = async (who: MemberPrincipal) => (await auth.apiKeys.list(who, { first: 100 })).items;
    expect((await listed(world.member)).every(({ userId }) => userId === world.member.userId)).toBe(true);
    for (const who of [world.member, world.admin, world.owner])
      expect((await listed(who)).map(({ id }) => id)).toContain(key.id);
    expect(await listed(world.viewer)).toEqual([]);
    expect(await listed(other.owner)).toEqual([]);
  });

  it('can be revoked by their user and by admins, and stay hidden from others', async () => {
    const { key } = await make(world.member, ['read']);
    const absent = { code: 'not_found', message: 'API key not found or unauthorized' };
    for (const who of [world.viewer, other.owner])
      await expect(auth.apiKeys.revoke(who, key.id)).rejects.toMatchObject(absent);
    for (const id of [newId(), 'no id'])
      await expect(auth.apiKeys.revoke(world.owner, id)).rejects.toMatchObject(absent);
    const owners = await make(world.owner, ['read']);
    await expect(auth.apiKeys.revoke(world.member, owners.key.id)).rejects.toMatchObject(absent);
    const before = identities.bus.sent.length;
    expect(await auth.apiKeys.revoke(world.admin, key.id)).toMatchObject({ revokedAt: identities.clock.now() });
    expect(identities.bus.sent.slice(before)).toEqual([
      { topic: 'access-changed', message: { workspaceId: world.owner.workspaceId } },
    ]);
  });

  it('end with the key that created them, directly or through another key', async () => {
    const first = await make(world.owner, ['read', 'admin']);
    const second = await make(await enter(first.text), ['read', 'admin']);
    const third = await make(await enter(second.text), ['read', 'admin']);
    const other = await make(world.owner, ['read']);
    await auth.apiKeys.revoke(world.owner, first.key.id);
    for (const { text } of [first, second, third])
      await expect(enter(text)).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(enter(other.text)).resolves.toMatchObject({ kind: 'key' });
    const items = (await auditOf(database, world.owner)).slice(0, 3);
    expect(items.map(({ action, subjectId }) => [action, subjectId]).sort()).toEqual(
      [first, second, third].map(({ key }) => ['api-key-revoked', key.id]).sort(),
    );
  });

  it('end with the key that created their workspace, as does everything created there', async () => {
    const maker = await make(world.owner, ['read', 'admin']);
    const identity = await auth.authenticator.identify({ authorization: `Bearer ${maker.text}` });
    const { workspace, firstKey } = await auth.workspaces.createWithKey(identity, { name: 'by key' });
    const first = firstKey?.text ?? '';
    const second = await make(await enter(first), ['read']);
    const before = identities.bus.sent.length;
    await auth.apiKeys.revoke(world.owner, maker.key.id);
    for (const text of [first, second.text])
      await expect(enter(text)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(identities.bus.sent.slice(before).map(({ message }) => message)).toEqual([
      { workspaceId: world.owner.workspaceId },
      { workspaceId: workspace.id },
    ]);
    const owner = { ...world.owner, workspaceId: workspace.id };
    const items = (await auditOf(database, owner)).slice(0, 2);
    expect(items.map(({ action, details }) => [action, details])).toEqual([
      ['api-key-revoked', { revokedWith: maker.key.id }],
      ['api-key-revoked', { revokedWith: maker.key.id }],
    ]);
    await expect(auth.workspaces.createWithKey(identity, { name: 'late' })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  it('cannot be created by a key that was just revoked', async () => {
    const maker = await make(world.owner, ['read', 'admin']);
    const principal = await enter(maker.text);
    await auth.apiKeys.revoke(world.owner, maker.key.id);
    await expect(make(principal, ['read'])).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('can be revoked by another key of the same user, but not by keys of other users', async () => {
    const key = await enter((await make(world.owner, ['read', 'admin'])).text);
    const others = await make(world.member, ['read']);
    const own = await make(world.owner, ['read']);
    await expect(auth.apiKeys.revoke(key, others.key.id)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(auth.apiKeys.revoke(key, own.key.id)).resolves.toMatchObject({ id: own.key.id });
  });

  it('keep the instant at which they were first revoked', async () => {
    const { key } = await make(world.owner, ['read']);
    const first = await auth.apiKeys.revoke(world.owner, key.id);
    identities.clock.advance(5_000);
    expect((await auth.apiKeys.revoke(world.owner, key.id)).revokedAt).toBe(first.revokedAt);
  });
});

it('the limits on keys of a user and of a workspace apply to concurrent creations too, and do not count revoked keys', async () => {
  const limited = openTestIdentities(database, undefined, { MAX_API_KEYS_PER_USER: '3', MAX_API_KEYS: '4' });
  const { owner, admin } = await limited.workspaceOf('limited');
  const makeAll = (who: MemberPrincipal, count: number) =>
    Promise.allSettled(
      Array.from({ length: count }, () => limited.auth.apiKeys.create(who, { name: 'k', scopes: ['read'] })),
    );
  const made = (await makeAll(owner, 8)).flatMap((end) => (end.status === 'fulfilled' ? [end.value.key] : []));
  expect(made).toHaveLength(3);
  const [first, second] = await makeAll(admin, 1).then(async (ends) => [...ends, ...(await makeAll(admin, 1))]);
  expect(first?.status).toBe('fulfilled');
  expect(second).toMatchObject({
    reason: {
      code: 'limit_reached',
      message: expect.stringMatching(
        /^At most 4 usable API keys of a workspace \(MAX_API_KEYS\)\. The operator .* or revoke one\.$/,
      ),
      details: { limit: 'MAX_API_KEYS', limitValue: 4, raisedBy: 'operator' },
    },
  });
  await limited.auth.apiKeys.revoke(owner, made[0]?.id ?? '');
  expect((await makeAll(admin, 3)).map(({ status }) => status).toSorted()).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
  ]);
});
