import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { newId } from '#platform';

import { keyOf, openApprovals, type TestApprovals } from '../../../../test/harness/approvals.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import type { ApprovalGrant, GrantFilter, GrantNeed, NewGrant } from './approval-grants.repository.js';

let database: TestDatabase;
let identities: TestIdentities;
let red: Record<Role, MemberPrincipal>;
let blue: Record<Role, MemberPrincipal>;
let approvals: TestApprovals;
let threadId: string;
let worlds = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  approvals = openApprovals(database);
});
beforeEach(async () => {
  worlds++;
  red = await identities.workspaceOf(`red${worlds}`);
  blue = await identities.workspaceOf(`blue${worlds}`);
  threadId = await newThread(red.member);
});
afterAll(async () => {
  identities.auth.close();
  await database.close();
});

async function newThread({ workspaceId, userId }: MemberPrincipal): Promise<string> {
  const id = newId();
  await approvals.sql(workspaceId, 'INSERT INTO thread (workspace_id, id, created_by) VALUES ($1, $2, $3)', [
    workspaceId,
    id,
    userId,
  ]);
  return id;
}

function grantOf(over: Partial<NewGrant> = {}): NewGrant {
  const { workspaceId, userId: requester, id: grantedBy } = red.member;
  const about = { threadId, agent: null, operation: 'mail.send', minutes: 5, interruptId: newId() };
  return { workspaceId, requester, grantedBy, ...about, ...over };
}

function give(over: Partial<NewGrant> = {}): Promise<string> {
  const grant = grantOf(over);
  return database.prisma.withWorkspace(grant, (tx) => approvals.grants.create(tx, grant));
}

const ALL: GrantFilter = { threadId: null, isActive: false };

async function isUsable(over: Partial<GrantNeed> = {}): Promise<boolean> {
  const { workspaceId, userId: requester } = red.member;
  const { version: policyVersion } = await openApprovals(database).policies.current(workspaceId);
  const need = { threadId, requester, agent: null, operation: 'mail.send', policyVersion, ...over };
  return (await approvals.grants.findUsable(workspaceId, need)) !== null;
}

async function listed(who: MemberPrincipal, filter: Partial<GrantFilter> = {}): Promise<readonly ApprovalGrant[]> {
  return (await approvals.grants.list(who, { ...ALL, ...filter }, { first: 100 })).items;
}

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'done',
    (error: unknown) => (error as { code: string }).code, // every refusal is an AppError
  );

describe('a grant', () => {
  it('approves the same operation in the same thread, and names its grantor', async () => {
    const id = await give({ grantedBy: red.admin.id });
    const { workspaceId, userId: requester } = red.member;
    const need = { threadId, requester, agent: null, operation: 'mail.send', policyVersion: 0 };
    expect(await approvals.grants.findUsable(workspaceId, need)).toEqual({ id, grantedBy: red.admin.id });
  });

  it.each<[string, () => Partial<GrantNeed>]>([
    ['another operation', () => ({ operation: 'mail.send POST example.org' })],
    ['another thread', () => ({ threadId: newId() })],
    ['another requester', () => ({ requester: red.admin.userId })],
    ['another agent', () => ({ agent: 'support' })],
    ['another policy', () => ({ policyVersion: 1 })],
  ])('does not approve %s', async (_fact, over) => {
    await give();
    expect([await isUsable(), await isUsable(over())]).toEqual([true, false]);
  });

  it('for an agent does not apply to calls without an agent', async () => {
    await give({ agent: 'support' });
    expect([await isUsable({ agent: 'support' }), await isUsable()]).toEqual([true, false]);
  });

  it('ends by the database clock after its minutes', async () => {
    const id = await give({ minutes: 30 });
    const [grant] = await listed(red.member);
    expect((grant?.expiresAt ?? 0) - (grant?.createdAt ?? 0)).toBe(30 * 60_000);
    await approvals.sql(
      red.member.workspaceId,
      'UPDATE approval_grant SET expires_at = clock_timestamp() WHERE id = $1',
      [id],
    );
    expect(await isUsable()).toBe(false);
    expect(await listed(red.member, { isActive: true })).toEqual([]);
    expect(await listed(red.member)).toMatchObject([{ id, isActive: false }]);
  });

  it('ends with the thread', async () => {
    await give();
    await approvals.sql(red.member.workspaceId, 'DELETE FROM thread WHERE id = $1', [threadId]);
    expect([await isUsable(), await listed(red.owner)]).toEqual([false, []]);
  });

  it('ends when its requester or its approver leaves the workspace', async () => {
    await give();
    await give({ operation: 'by admin', grantedBy: red.admin.id });
    await identities.auth.members.remove(red.owner, red.admin.userId);
    expect([await isUsable(), await isUsable({ operation: 'by admin' })]).toEqual([true, false]);
    await identities.auth.members.remove(red.owner, red.member.userId);
    expect(await isUsable()).toBe(false);
    expect((await listed(red.owner)).map(({ isActive }) => isActive)).toEqual([false, false]);
  });

  it('given by a key ends with the key', async () => {
    const { key } = await identities.auth.apiKeys.create(red.member, {
      name: 'k',
      scopes: ['approve'],
      expiresAt: null,
    });
    await give({ grantedBy: `key:${key.id}` });
    expect(await isUsable()).toBe(true);
    await identities.auth.apiKeys.revoke(red.member, key.id);
    expect(await isUsable()).toBe(false);
  });

  it('approves nothing when its grantor is unknown', async () => {
    for (const grantedBy of ['system', 'webhook', 'user:1', `user:${newId()}`, `key:${newId()}`])
      await give({ grantedBy });
    expect(await isUsable()).toBe(false);
  });

  it('ends with a change of the policy, also in a process that missed the hint', async () => {
    const id = await give();
    await approvals.policies.save(red.owner, { policy: { timeoutDays: 1 }, expectedVersion: null });
    expect([await isUsable({ policyVersion: 0 }), await isUsable()]).toEqual([false, false]);
    expect(await listed(red.member)).toMatchObject([{ id, isActive: false, revokedBy: red.owner.id }]);
    await give();
    expect(await isUsable()).toBe(true);
    expect((await listed(red.member))[0]).toMatchObject({ policyVersion: 1 });
  });

  it('rolls back with the transaction of its decision', async () => {
    const decision = database.prisma.withWorkspace(red.member, async (tx) => {
      await approvals.grants.create(tx, grantOf());
      throw new Error('the decision failed');
    });
    await expect(decision).rejects.toThrow('the decision failed');
    expect([await isUsable(), await approvals.auditOf(red.owner)]).toEqual([false, []]);
  });
});

describe('the list of grants', () => {
  it('shows all grants to approvers, and other members the grants that they gave or received', async () => {
    const mine = await give();
    const theirs = await give({ requester: red.admin.userId, grantedBy: red.owner.id });
    const viewers = await give({ requester: red.viewer.userId, grantedBy: red.owner.id });
    const ids = async (who: MemberPrincipal) => (await listed(who)).map(({ id }) => id);
    expect(await ids(red.owner)).toEqual([viewers, theirs, mine]);
    expect(await ids(red.admin)).toEqual([viewers, theirs, mine]);
    expect(await ids(red.member)).toEqual([mine]);
    expect(await ids(red.viewer)).toEqual([viewers]);
    expect(await ids(blue.owner)).toEqual([]);
    expect(await ids(keyOf(red.owner, ['approve', 'admin', 'write']))).toEqual([]);
  });

  it('shows a user the grants of their API keys', async () => {
    const { key } = await identities.auth.apiKeys.create(red.member, {
      name: 'k',
      scopes: ['approve'],
      expiresAt: null,
    });
    const id = await give({ requester: red.admin.userId, grantedBy: `key:${key.id}` });
    expect(await listed(red.member)).toMatchObject([{ id }]);
  });

  it('returns pages, newest first, filtered by thread and by whether a grant is active', async () => {
    const other = await newThread(red.member);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await give(i === 2 ? { threadId: other } : {}));
    await approvals.grants.revoke(red.member, ids[4] ?? '');
    const page = async (after?: string) => approvals.grants.list(red.member, ALL, { first: 2, after });
    const first = await page();
    expect([first.items.map(({ id }) => id), first.hasMore]).toEqual([[ids[4], ids[3]], true]);
    const second = await page(ids[3]);
    expect([second.items.map(({ id }) => id), second.hasMore]).toEqual([[ids[2], ids[1]], true]);
    const last = await page(ids[1]);
    expect([last.items.map(({ id }) => id), last.hasMore]).toEqual([[ids[0]], false]);
    expect((await listed(red.member, { threadId: other })).map(({ id }) => id)).toEqual([ids[2]]);
    expect((await listed(red.member, { isActive: true })).map(({ id }) => id)).toEqual(ids.slice(0, 4).reverse());
    expect(await listed(red.member, { threadId: 'x' })).toEqual([]);
  });
});

describe('revoking a grant', () => {
  it.each<[string, () => MemberPrincipal, string]>([
    ['whom it is for', () => red.member, 'done'],
    ['who gave it', () => red.admin, 'done'],
    ['an approver', () => red.owner, 'done'],
    ['an approver by a key for decisions', () => keyOf(red.owner, ['approve']), 'done'],
    ['a key for other things', () => keyOf(red.member, ['read', 'write', 'admin']), 'forbidden'],
    ['another user', () => red.viewer, 'not_found'],
    ['another workspace', () => blue.owner, 'not_found'],
  ])('%s', async (_fact, who, outcome) => {
    const id = await give({ grantedBy: red.admin.id });
    expect(await codeOf(approvals.grants.revoke(who(), id))).toBe(outcome);
    expect(await isUsable()).toBe(outcome !== 'done');
  });

  it('returns the first revocation when a second user revokes the grant', async () => {
    const id = await give();
    const revoked = await approvals.grants.revoke(red.member, id);
    expect(revoked).toMatchObject({ id, isActive: false, revokedBy: red.member.id });
    expect(await approvals.grants.revoke(red.owner, id)).toEqual(revoked);
  });

  it('rejects revoking a grant that does not exist', async () => {
    for (const id of [newId(), 'x', '']) expect(await codeOf(approvals.grants.revoke(red.owner, id))).toBe('not_found');
  });
});

describe('the audit', () => {
  it('records each grant, its use and its revocation once', async () => {
    const interruptId = newId();
    const id = await give({ interruptId });
    await approvals.grants.recordUse(red.member.workspaceId, { grantId: id, jobId: 'j1', tool: 'mail.send' });
    await approvals.grants.revoke(red.admin, id);
    await approvals.grants.revoke(red.owner, id);
    const about = { subject_type: 'ApprovalGrant', subject_id: id };
    expect(await approvals.auditOf(red.owner)).toEqual([
      {
        ...about,
        action: 'approval-grant-created',
        actor: red.member.id,
        details: { operation: 'mail.send', threadId, minutes: 5, interruptId },
      },
      { ...about, action: 'approval-grant-used', actor: 'system', details: { jobId: 'j1', tool: 'mail.send' } },
      {
        ...about,
        action: 'approval-grant-revoked',
        actor: red.admin.id,
        details: { operation: 'mail.send', threadId },
      },
    ]);
  });
});

describe('row-level security', () => {
  it('hides grants of another workspace, and refuses to change or insert them', async () => {
    const id = await give();
    const { workspaceId } = blue.owner;
    expect(await approvals.sql(workspaceId, 'SELECT FROM approval_grant', [])).toEqual([]);
    await approvals.sql(workspaceId, 'UPDATE approval_grant SET revoked_at = now() WHERE id = $1', [id]);
    expect(await isUsable()).toBe(true);
    const need = { threadId, requester: red.member.userId, agent: null, operation: 'mail.send', policyVersion: 0 };
    expect(await approvals.grants.findUsable(workspaceId, need)).toBeNull();
    const foreign = database.prisma.withWorkspace({ workspaceId }, (tx) =>
      approvals.grants.create(tx, grantOf({ grantedBy: blue.owner.id })),
    );
    await expect(foreign).rejects.toThrow(/row-level security/);
  });
});
