import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { auditOf } from '../../../../test/harness/audit.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { emailOf, openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
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
  world = await identities.workspaceOf(`firm${++serial}`);
});
afterAll(() => database.close());

const hidden = { code: 'not_found', message: 'Workspace not found or unauthorized' };

describe('a workspace', () => {
  it('starts with the documented defaults and an audit entry', async () => {
    expect(await auth.workspaces.get(world.owner)).toMatchObject({
      ...{ name: `firm${serial}`, maxJobsPerUser: 5, maxJobs: 20, whenFull: 'queue', whenBusy: 'reject' },
      ...{ requireUserKey: false, directModels: [], deltaRetentionMs: null, jobRetentionMs: null },
    });
    const items = await auditOf(database, world.owner);
    expect(items.at(-1)).toMatchObject({
      action: 'workspace-created',
      actor: world.owner.id,
      subjectId: world.owner.workspaceId,
    });
  });

  it('changes the given fields and keeps the others', async () => {
    const changes = {
      name: ' New name ',
      maxJobs: 7,
      whenBusy: 'enqueue',
      requireUserKey: true,
      directModels: ['gpt-*'],
      jobRetentionMs: 86_400_000,
    } as const;
    await auth.workspaces.update(world.admin, changes);
    expect(await auth.workspaces.update(world.owner, { jobRetentionMs: null })).toMatchObject({
      ...{ name: 'New name', maxJobs: 7, maxJobsPerUser: 5, whenBusy: 'enqueue' },
      ...{ requireUserKey: true, directModels: ['gpt-*'], jobRetentionMs: null, deltaRetentionMs: null },
    });
    const items = (await auditOf(database, world.admin)).slice(0, 2);
    expect(items.map(({ action, actor }) => [action, actor])).toEqual([
      ['workspace-changed', world.owner.id],
      ['workspace-changed', world.admin.id],
    ]);
    expect(items[1]?.details).toEqual({ ...changes, name: 'New name' });
  });

  it.each([
    { name: '' },
    { name: 'a\0b' },
    { maxJobs: 0 },
    { maxJobs: 1.5 },
    { maxJobs: 1_001 },
    { maxJobsPerUser: 1_001 },
    { whenFull: 'wait' },
    { whenBusy: 'wait' },
    { toolIsolation: 'none' },
    { deltaRetentionMs: -1 },
    { id: newId() },
    { createdAt: 1 },
  ])('refuses the change %j', async (changes) => {
    await expect(auth.workspaces.update(world.owner, changes as object)).rejects.toMatchObject({ code: 'bad_request' });
  });

  it("rejects a cap over the operator's ceiling and names the setting", async () => {
    await expect(auth.workspaces.update(world.owner, { maxJobs: 2_000 })).rejects.toMatchObject({
      field: 'maxJobs',
      message: expect.stringMatching(/at most 1000 .*RUNNING_JOBS_CEILING.*operator/),
    });
    const changes = { maxJobs: 1_000, maxJobsPerUser: 1_000, whenFull: 'reject' } as const;
    expect(await auth.workspaces.update(world.owner, changes)).toMatchObject(changes);
  });

  it('stays hidden from other users, with its members and settings', async () => {
    for (const who of [world.member, world.viewer]) {
      await expect(auth.workspaces.get(who)).rejects.toMatchObject(hidden);
      await expect(auth.workspaces.update(who, { name: 'x' })).rejects.toMatchObject(hidden);
    }
  });
});

describe('the audit log', () => {
  it('contains only entries of its workspace', async () => {
    await identities.workspaceOf(`rival${serial}`);
    expect((await auditOf(database, world.owner)).map(({ action }) => action)).toEqual([
      ...['member-added', 'invitation-created'],
      ...['member-added', 'invitation-created'],
      ...['member-added', 'invitation-created'],
      'workspace-created',
    ]);
  });

  it('cannot be changed or removed by the serving role', async () => {
    const run = (sql: string) =>
      database.postgres.withWorkspaceSql(world.owner.workspaceId, (client) => client.query(sql));
    await expect(run(`UPDATE audit_entry SET actor = 'x'`)).rejects.toThrow(/permission denied/);
    await expect(run(`DELETE FROM audit_entry`)).rejects.toThrow(/permission denied/);
  });

  it('contains no entry for a failed change', async () => {
    const before = await auditOf(database, world.owner);
    await expect(auth.members.remove(world.owner, world.owner.userId)).rejects.toMatchObject({ code: 'last_owner' });
    await expect(auth.members.remove(world.admin, world.owner.userId)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await auditOf(database, world.owner)).toEqual(before);
  });
});

describe('me', () => {
  it("lists every membership of a token's user", async () => {
    await identities.workspaceOf(`second${serial}`);
    const subject = `firm${serial}-member`;
    const second = await identities.enter(`second${serial}-owner`);
    await identities.join(second, subject, 'viewer');
    const identity = await auth.authenticator.identify({ authorization: await identities.bearer(subject) });
    const me = await auth.workspaces.me(identity);
    expect(me).toMatchObject({ id: `user:${me.user.id}`, user: { email: emailOf(subject), name: subject } });
    expect(me.memberships.map(({ workspaceName, role }) => [workspaceName, role])).toEqual([
      [`firm${serial}`, 'member'],
      [`second${serial}`, 'viewer'],
    ]);
  });

  it('lists only the workspace of an API key', async () => {
    const { text } = await auth.apiKeys.create(world.owner, { name: 'k', scopes: ['read'] });
    const identity = await auth.authenticator.identify({ authorization: `Bearer ${text}` });
    await auth.workspaces.create({ ...identity, scopes: ['admin'] }, { name: 'another' });
    expect((await auth.workspaces.me(identity)).memberships.map(({ workspaceName }) => workspaceName)).toEqual([
      `firm${serial}`,
    ]);
  });
});

describe('WorkspacesService.create', () => {
  it('rejects an API key without the scope admin', async () => {
    const { text } = await auth.apiKeys.create(world.owner, { name: 'k', scopes: ['read', 'write'] });
    const identity = await auth.authenticator.identify({ authorization: `Bearer ${text}` });
    await expect(auth.workspaces.create(identity, { name: 'x' })).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('the seed', () => {
  it('creates one workspace for any number of calls', async () => {
    const seed = { email: `seed${serial}@example.org`, userName: 'Seed', workspaceName: 'Demo' };
    const first = await auth.seeder.ensure(seed);
    const second = await auth.seeder.ensure(seed);
    expect([first.created, second.created]).toEqual([true, false]);
    expect(second.principal.workspaceId).toBe(first.principal.workspaceId);
    const { text } = await auth.apiKeys.create(first.principal, {
      name: 'first',
      scopes: ['read', 'write', 'admin', 'approve'],
    });
    expect(await auth.authenticator.authenticate({ authorization: `Bearer ${text}` })).toMatchObject({ role: 'owner' });
  });
});

it('the limit on workspaces of a user applies to concurrent creations too', async () => {
  const limited = openTestIdentities(database, undefined, { MAX_WORKSPACES_PER_USER: '3' });
  const authorization = await limited.bearer('collector');
  const identity = await limited.auth.authenticator.identify({ authorization });
  const ends = await Promise.allSettled(
    Array.from({ length: 8 }, (_, i) => limited.auth.workspaces.create(identity, { name: `w${i}` })),
  );
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: {
      code: 'limit_reached',
      message: expect.stringContaining('At most 3 workspaces that a user owns (MAX_WORKSPACES_PER_USER)'),
    },
  });
});
