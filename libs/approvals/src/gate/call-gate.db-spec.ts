import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { type MemberPrincipal, PrincipalsRepository, type Role } from '#auth';
import { Config, newId } from '#platform';
import type { ToolSort } from '#tools';

import { openApprovals, type TestApprovals } from '../../../../test/harness/approvals.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { parseApprovalPolicy } from '../policies/approval-policy.js';
import { type Allowance, CallGate, type GateCall, type GateDecision, type GateJob, operationOf } from './call-gate.js';

let database: TestDatabase;
let identities: TestIdentities;
let red: Record<Role, MemberPrincipal>;
let approvals: TestApprovals;
let job: GateJob;
let worlds = 0;

const call = { name: 'mail.send', arguments: '{"amount":5}' };
/** What the gate looks at of a tool. */
const known = { sort: 'http' as ToolSort, version: 'id@1', approval: null, sensitiveFields: [], grantKey: null };
const asking = { default: 'require_approval' };

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
});
beforeEach(async () => {
  red = await identities.workspaceOf(`red${++worlds}`);
  approvals = openApprovals(database);
  const { workspaceId, userId: createdBy, id: principal } = red.member;
  const threadId = newId();
  await approvals.sql(workspaceId, 'INSERT INTO thread (workspace_id, id, created_by) VALUES ($1, $2, $3)', [
    workspaceId,
    threadId,
    createdBy,
  ]);
  job = { workspaceId, jobId: newId(), threadId, createdBy, principal, agent: null, requestPolicy: null };
});
afterAll(async () => {
  identities.auth.close();
  await database.close();
});

/** A process that remembers nothing of before. */
function gate(env: Readonly<Record<string, string>> = {}): CallGate {
  const { policies, grants } = openApprovals(database);
  return new CallGate(policies, grants, new PrincipalsRepository(database.prisma), Config.from(env));
}

const save = (policy: unknown) => approvals.policies.save(red.owner, { policy, expectedVersion: null });
const judge = (over: Partial<GateJob> = {}, what: GateCall = call): Promise<GateDecision> =>
  gate().judge({ ...job, ...over }, what, null);

/** Checks the call again right before it runs, after `by` (null: the policy) has approved it. */
function recheck(
  by: MemberPrincipal | null,
  over: Partial<NonNullable<Allowance['decisionRules']>> = {},
): Promise<GateDecision> {
  const decisionRules = { decidableBy: 'requester', fourEyes: false, adminRequired: false, ...over } as const;
  const allowed: Allowance =
    by === null
      ? { approval: 'policy', decidedBy: null, decisionRules: null }
      : { approval: 'person', decidedBy: by.id, decisionRules };
  return gate().recheck(job, { call, tool: null, allowed });
}

function give(by: MemberPrincipal, operation = operationOf(call, null)): Promise<string> {
  const { workspaceId, threadId, createdBy } = job;
  const grant = { workspaceId, threadId: threadId ?? '', requester: createdBy ?? '', agent: null };
  return database.prisma.withWorkspace({ workspaceId }, (tx) =>
    approvals.grants.create(tx, {
      ...grant,
      operation: operation ?? '',
      minutes: 5,
      interruptId: newId(),
      grantedBy: by.id,
    }),
  );
}

describe('CallGate.judge', () => {
  it('lets a proposed call run, wait for approval or be refused, as the policy requires', async () => {
    expect(await judge()).toEqual({ type: 'run', approval: 'policy', grantId: null });
    await save({ rules: [{ match: 'mail.*', when: 'arguments.amount > 3', action: 'require_approval' }] });
    expect(await judge()).toMatchObject({ type: 'ask', verdict: { rule: { layer: 'workspace', index: 0 } } });
    await save({ rules: [{ match: 'mail.*', action: 'block' }] });
    expect(await judge()).toMatchObject({ type: 'refuse', approval: 'blocked' });
  });

  it('lets the operator and the request tighten the policy, but not widen it', async () => {
    expect(await gate({ TOOL_APPROVAL_DEFAULT: 'require_approval' }).judge(job, call, null)).toMatchObject({
      type: 'ask',
    });
    expect(await judge({ requestPolicy: parseApprovalPolicy(asking) })).toMatchObject({ type: 'ask' });
    await save({ rules: [{ match: '*', action: 'block' }] });
    const mild = parseApprovalPolicy({ rules: [{ match: '*', action: 'auto_approve' }] });
    expect(await judge({ requestPolicy: mild })).toMatchObject({ type: 'refuse' });
  });

  it('refuses a call whose requester is no longer a member', async () => {
    await identities.auth.members.remove(red.owner, red.member.userId);
    expect(await judge()).toMatchObject({ type: 'refuse', approval: 'withdrawn' });
  });
});

describe('CallGate.recheck', () => {
  it('requests approval when the policy has become stricter, and refuses when it blocks', async () => {
    expect(await recheck(null)).toMatchObject({ type: 'run', approval: 'policy' });
    await save(asking);
    expect(await recheck(null)).toMatchObject({ type: 'ask' });
    await save({ rules: [{ match: '*', action: 'block' }] });
    expect(await recheck(null)).toMatchObject({ type: 'refuse', approval: 'blocked' });
    expect(await recheck(red.member)).toMatchObject({ type: 'refuse', approval: 'blocked' });
  });

  it('runs a call while its approver could still approve it', async () => {
    await save(asking);
    expect(await recheck(red.member)).toMatchObject({ type: 'run' });
    expect(await recheck(red.admin, { decidableBy: 'approvers', fourEyes: true })).toMatchObject({ type: 'run' });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['leaves', () => identities.auth.members.remove(red.owner, red.admin.userId)],
    [
      'gets a lesser role',
      () => identities.auth.members.changeRole(red.owner, { userId: red.admin.userId, role: 'member' }),
    ],
  ])('refuses a call when its approver %s, even if the policy no longer requires approval', async (_fact, happens) => {
    await save({ default: 'require_approval', decidableBy: 'approvers' });
    await happens();
    const withdrawn = { type: 'refuse', approval: 'withdrawn', reason: 'approval withdrawn' };
    expect(await recheck(red.admin, { decidableBy: 'approvers' })).toEqual(withdrawn);
    await save({});
    expect(await recheck(red.admin, { decidableBy: 'approvers' })).toEqual(withdrawn);
  });

  it('refuses a call when the policy now requires another approver', async () => {
    await save({ ...asking, decidableBy: 'approvers' });
    expect(await recheck(red.member)).toMatchObject({ type: 'refuse', approval: 'withdrawn' });
    await save({ ...asking, fourEyes: true });
    expect(await recheck(red.member)).toMatchObject({ type: 'refuse', approval: 'withdrawn' });
    await save({ rules: [{ match: '*', action: 'require_approval', locked: true }] });
    expect(await recheck(red.member)).toMatchObject({ type: 'refuse', approval: 'withdrawn' });
  });

  it('ignores a grant of the same person', async () => {
    await save({ ...asking, decidableBy: 'approvers' });
    await give(red.admin);
    await identities.auth.members.changeRole(red.owner, { userId: red.admin.userId, role: 'viewer' });
    expect(await recheck(red.admin, { decidableBy: 'approvers' })).toMatchObject({ type: 'refuse' });
  });
});

describe('a grant', () => {
  beforeEach(() => save({ ...asking, rules: [{ match: 'locked', action: 'require_approval', locked: true }] }));

  it('lets calls run, and audits each use once and no preview', async () => {
    const grantId = await give(red.member);
    expect(await judge({}, { ...call, isPreview: true })).toEqual({ type: 'run', approval: 'grant', grantId });
    expect(await judge()).toEqual({ type: 'run', approval: 'grant', grantId });
    const allowed: Allowance = { approval: 'grant', decidedBy: null, decisionRules: null };
    expect(await gate().recheck(job, { call, tool: null, allowed })).toEqual({
      type: 'run',
      approval: 'grant',
      grantId,
    });
    const uses = (await approvals.auditOf(red.owner)).filter(({ action }) => action === 'approval-grant-used');
    expect(uses).toMatchObject([{ subject_id: grantId, details: { jobId: job.jobId, tool: 'mail.send' } }]);
  });

  it('does not apply to a locked rule, to a call that cannot be shown, or to a job without thread or requester', async () => {
    await give(red.member);
    await give(red.member, operationOf({ ...call, name: 'locked' }, null));
    expect(await judge({}, { ...call, name: 'locked' })).toMatchObject({ type: 'ask', verdict: { locked: true } });
    expect(await judge({}, { ...call, arguments: 'nonsense' })).toMatchObject({ type: 'ask' });
    expect(await judge({}, { ...call, arguments: '{"text":"sk-abcdefghijklmnopqrst"}' })).toMatchObject({
      type: 'ask',
    });
    expect(await judge({ threadId: null })).toMatchObject({ type: 'ask' });
    expect(await judge({ createdBy: null })).toMatchObject({ type: 'ask' });
    expect(await judge({ agent: 'support' })).toMatchObject({ type: 'ask' });
    expect(await judge()).toMatchObject({ type: 'run' });
  });

  it('ends when the approver that gave it may no longer decide', async () => {
    await save({ ...asking, decidableBy: 'approvers' });
    await give(red.admin);
    expect(await judge()).toMatchObject({ type: 'run', approval: 'grant' });
    await identities.auth.members.changeRole(red.owner, { userId: red.admin.userId, role: 'member' });
    expect(await judge()).toMatchObject({ type: 'ask' });
  });

  it('applies only to the granted operation of a tool', async () => {
    const grantKey = (args: Readonly<Record<string, unknown>>) => String(args['amount']);
    const tool = { ...known, grantKey };
    await give(red.member, operationOf(call, tool));
    // The gate looks at these members of a tool and no others.
    const asked = (args: string) => gate().judge(job, { ...call, arguments: args }, tool as never);
    expect(await asked('{"amount":5}')).toMatchObject({ type: 'run', approval: 'grant' });
    expect(await asked('{"amount":6}')).toMatchObject({ type: 'ask' });
  });

  it('does not apply after the tool has changed', async () => {
    await give(red.member, operationOf(call, known));
    const asked = (changed: Partial<typeof known>) => gate().judge(job, call, { ...known, ...changed } as never);
    expect(await asked({})).toMatchObject({ type: 'run', approval: 'grant' });
    expect(await asked({ version: 'id@2' })).toMatchObject({ type: 'ask' });
    expect(await asked({ sort: 'mcp' })).toMatchObject({ type: 'ask' });
  });

  it('covers only the version of the client that it names', async () => {
    const first = { ...call, version: 'first' };
    await give(red.member, operationOf(first, null));
    expect(await judge({}, first)).toMatchObject({ type: 'run', approval: 'grant' });
    expect(await judge({}, { ...call, version: 'second' })).toMatchObject({ type: 'ask' });
    expect(await judge()).toMatchObject({ type: 'ask' });
  });
});
