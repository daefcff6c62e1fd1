import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../test/harness/identities.js';
import type { MemberPrincipal, Role } from './principal.js';

let database: TestDatabase;
let identities: TestIdentities;
let world: Record<Role, MemberPrincipal>;
let other: Record<Role, MemberPrincipal>;
let serial = 0;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  identities = openTestIdentities(database);
  serial += 1;
  world = await identities.workspaceOf(`here${serial}`);
  other = await identities.workspaceOf(`there${serial}`);
});
afterAll(() => database.close());

const authenticate = (authorization?: string, workspaceId?: string) =>
  identities.auth.authenticator.authenticate({ authorization, workspaceId });
const hidden = { code: 'not_found', message: 'Workspace not found or unauthorized', field: 'workspaceId' };

describe('a token', () => {
  it('selects the only workspace of its user', async () => {
    const principal = await identities.enter(`here${serial}-viewer`);
    expect(principal).toMatchObject({ kind: 'user', role: 'viewer', workspaceId: world.viewer.workspaceId });
    expect(principal.id).toBe(`user:${principal.userId}`);
  });

  it('selects only workspaces of its user, and gets the same error for others and absent ones', async () => {
    for (const id of [other.owner.workspaceId, newId(), 'no id', ''])
      await expect(identities.enter(`here${serial}-owner`, id)).rejects.toMatchObject(hidden);
  });

  it('takes its membership from the database, never from a claim', async () => {
    const claims = {
      workspaceId: other.owner.workspaceId,
      workspace_id: other.owner.workspaceId,
      role: 'owner',
      scopes: ['admin'],
    };
    const authorization = await identities.bearer(`here${serial}-viewer`, claims);
    expect(await authenticate(authorization)).toMatchObject({ role: 'viewer', workspaceId: world.viewer.workspaceId });
  });

  it('must name a workspace if its user has several', async () => {
    await identities.join(other.owner, `here${serial}-member`, 'viewer');
    const subject = `here${serial}-member`;
    await expect(identities.enter(subject)).rejects.toMatchObject({ code: 'bad_request', field: 'workspaceId' });
    expect(await identities.enter(subject, other.owner.workspaceId)).toMatchObject({ role: 'viewer' });
    expect(await identities.enter(subject, world.owner.workspaceId)).toMatchObject({ role: 'member' });
  });

  it('of a new user may create a workspace, and then has the role owner', async () => {
    const authorization = await identities.bearer(`new${serial}`);
    await expect(authenticate(authorization)).rejects.toMatchObject(hidden);
    const identity = await identities.auth.authenticator.identify({ authorization });
    expect(identity.workspaceId).toBeNull();
    const { id } = await identities.auth.workspaces.create(identity, { name: 'mine' });
    expect(await authenticate(authorization)).toMatchObject({ workspaceId: id, role: 'owner' });
  });

  it('selects a workspace that was just created, also in a process that missed the hint', async () => {
    const elsewhere = openTestIdentities(database);
    const authorization = await identities.bearer(`here${serial}-owner`);
    for (const { auth } of [identities, elsewhere]) await auth.authenticator.authenticate({ authorization });
    const identity = await identities.auth.authenticator.identify({ authorization });
    const { id: workspaceId } = await identities.auth.workspaces.create(identity, { name: 'second' });
    for (const { auth } of [identities, elsewhere])
      expect(await auth.authenticator.authenticate({ authorization, workspaceId })).toMatchObject({ workspaceId });
  });
});

describe('a token for a workspace that is not its own', () => {
  it('causes at most a few queries a second, for any number of attempts', async () => {
    const authorization = await identities.bearer(`here${serial}-owner`);
    await authenticate(authorization);
    const query = jest.spyOn(database.postgres.api, 'query');
    const tries = () => Promise.allSettled(Array.from({ length: 50 }, () => authenticate(authorization, newId())));
    const outcomes = [...(await tries()), ...(await tries())];
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    expect(query).toHaveBeenCalledTimes(5);
    identities.clock.advance(1_000);
    await expect(authenticate(authorization, newId())).rejects.toMatchObject(hidden);
    expect(query.mock.calls.length).toBeGreaterThan(5);
    jest.restoreAllMocks();
  });

  it('selects a workspace that its user joins or creates after many failed attempts', async () => {
    const authorization = await identities.bearer(`here${serial}-member`);
    const { workspaceId } = other.owner;
    const tryOften = () =>
      Promise.allSettled(Array.from({ length: 50 }, () => authenticate(authorization, workspaceId)));
    await tryOften();
    await identities.join(other.owner, `here${serial}-member`, 'viewer');
    expect(await authenticate(authorization, workspaceId)).toMatchObject({ workspaceId, role: 'viewer' });
    const identity = await identities.auth.authenticator.identify({ authorization });
    await Promise.allSettled(Array.from({ length: 50 }, () => authenticate(authorization, newId())));
    const { id } = await identities.auth.workspaces.create(identity, { name: 'mine' });
    expect(await authenticate(authorization, id)).toMatchObject({ workspaceId: id, role: 'owner' });
  });
});
