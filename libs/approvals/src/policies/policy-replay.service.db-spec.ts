import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { newId } from '#platform';

import { keyOf, openApprovals, type TestApprovals } from '../../../../test/harness/approvals.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import type { PolicyReplay } from './replay-tally.js';

let database: TestDatabase;
let identities: TestIdentities;
let red: Record<Role, MemberPrincipal>;
let approvals: TestApprovals;
let worlds = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
});
beforeEach(async () => {
  red = await identities.workspaceOf(`red${++worlds}`);
  approvals = openApprovals(database);
});
afterAll(async () => {
  identities.auth.close();
  await database.close();
});

/** A job of `who` with `count` calls, oldest first; ids and arguments `{"n":1}`, `{"n":2}` … */
async function calls(
  who: MemberPrincipal,
  count: number,
  over: { name?: string; status?: string } = {},
): Promise<string[]> {
  const { workspaceId, userId, id: principal } = who;
  const jobId = newId();
  const ids = Array.from({ length: count }, () => newId());
  await approvals.sql(
    workspaceId,
    `INSERT INTO job (workspace_id, id, kind, created_by, principal, model, input) VALUES ($1, $2, 'chat', $3, $4, 'm', '{}')`,
    [workspaceId, jobId, userId, principal],
  );
  await approvals.sql(
    workspaceId,
    `INSERT INTO tool_call (workspace_id, id, job_id, round, ordinal, call_id, name, arguments, effect, status, idem_key)
     SELECT $1::uuid, c.id, $2::uuid, 1, c.n, 'c' || c.n, $4, '{"n":' || c.n || '}', 'pure', $5, $2::text || ':' || c.n
       FROM unnest($3::uuid[]) WITH ORDINALITY AS c(id, n)`,
    [workspaceId, jobId, ids, over.name ?? 'mail.send', over.status ?? 'completed'],
  );
  return ids;
}

function dryRun(policy: unknown, lastCalls = 1_000, who: MemberPrincipal = red.owner): Promise<PolicyReplay> {
  return approvals.replays.dryRun(who, { policy, lastCalls });
}

const asking = { rules: [{ match: 'mail.*', when: 'arguments.n > 2', action: 'require_approval' }] };

describe('a dry run', () => {
  it('reports what the draft would have done to past calls', async () => {
    const ids = await calls(red.member, 5);
    const replay = await dryRun(asking);
    const change = { tool: 'mail.send', before: 'auto_approve', after: 'require_approval' };
    expect(replay).toMatchObject({
      examined: 5,
      isComplete: true,
      before: { auto_approve: 5, require_approval: 0, block: 0 },
      after: { auto_approve: 2, require_approval: 3, block: 0 },
      changed: 3,
      changes: [ids[4], ids[3], ids[2]].map((id) => ({ ...change, id })),
      rules: [
        { index: 0, hits: 3 },
        { index: null, hits: 2 },
      ],
    });
    expect(replay.changes[0]?.reason).toBe('Rule 0 of the workspace (mail.*) asks for approval.');
  });

  it('compares the draft with the current policy', async () => {
    await calls(red.member, 4);
    await approvals.policies.save(red.owner, {
      policy: { rules: [{ match: '*', action: 'block' }] },
      expectedVersion: null,
    });
    expect(await dryRun(asking)).toMatchObject({
      before: { auto_approve: 0, require_approval: 0, block: 4 },
      after: { auto_approve: 2, require_approval: 2, block: 0 },
      changed: 4,
    });
    expect((await approvals.policies.find(red.owner))?.version).toBe(1);
  });

  it('counts hits of a rule even if another layer is stricter', async () => {
    approvals = openApprovals(database, { TOOL_APPROVAL_DEFAULT: 'require_approval' });
    await calls(red.member, 3);
    expect(await dryRun({ rules: [{ match: 'mail.*', action: 'auto_approve' }] })).toMatchObject({
      after: { auto_approve: 0, require_approval: 3 },
      changed: 0,
      rules: [{ index: 0, hits: 3 }],
    });
  });

  it('evaluates each call with the current role of its requester', async () => {
    await calls(red.member, 2);
    await calls(red.admin, 3);
    const rules = [{ match: '*', when: 'principal.role == "member"', action: 'block' }];
    expect((await dryRun({ rules })).after).toMatchObject({ block: 2, auto_approve: 3 });
    await identities.auth.members.changeRole(red.owner, { userId: red.admin.userId, role: 'member' });
    expect((await dryRun({ rules })).after).toMatchObject({ block: 5 });
  });

  it('reads the newest calls up to the given limit, across pages', async () => {
    const ids = await calls(red.member, 350);
    const whole = await dryRun({ default: 'require_approval' });
    expect([whole.examined, whole.changed, whole.changes.length]).toEqual([350, 350, 50]);
    const some = await dryRun({ default: 'require_approval' }, 120);
    expect(some.examined).toBe(120);
    expect(some.changes.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 50));
    expect((await dryRun({}, 100)).examined).toBe(100);
  });

  it('skips calls that no policy has judged', async () => {
    await calls(red.member, 2, { status: 'skipped' });
    await calls(red.member, 1, { status: 'denied' });
    expect((await dryRun({})).examined).toBe(1);
  });

  it('requires approval for calls whose arguments cannot be parsed', async () => {
    const { workspaceId } = red.owner;
    await calls(red.member, 1);
    await approvals.sql(workspaceId, `UPDATE tool_call SET arguments = 'nonsense'`, []);
    expect((await dryRun(asking)).after.require_approval).toBe(1);
  });

  it('returns nothing for a workspace without calls', async () => {
    expect(await dryRun(asking)).toMatchObject({ examined: 0, isComplete: true, changes: [], rules: [] });
  });

  it('changes nothing', async () => {
    await calls(red.member, 3);
    await dryRun(asking);
    expect(await approvals.auditOf(red.owner)).toEqual([]);
    expect((await approvals.policies.find(red.owner))?.version).toBe(0);
  });
});

describe('a dry run is refused', () => {
  it.each([0, -1, 1.5, 10_001, NaN])('for %p calls', async (lastCalls) => {
    await expect(dryRun({}, lastCalls)).rejects.toMatchObject({ code: 'bad_request', field: 'lastCalls' });
  });

  it('for a draft that cannot be used', async () => {
    const draft = { rules: [{ match: '*', when: 'tool.matches("x")', action: 'block' }] };
    await expect(dryRun(draft)).rejects.toMatchObject({ code: 'bad_request', field: 'rules.0.when' });
  });

  it('for a caller who may not read the policy or the calls', async () => {
    const keys = [keyOf(red.owner, ['admin']), keyOf(red.owner, ['read', 'write', 'approve'])];
    for (const who of [red.member, red.viewer, ...keys])
      await expect(dryRun({}, 10, who)).rejects.toMatchObject({ code: 'not_found' });
    expect((await dryRun({}, 10, keyOf(red.admin, ['admin', 'read']))).examined).toBe(0);
  });

  it('while another dry run of the workspace is running', async () => {
    const blue = await identities.workspaceOf(`blue${worlds}`);
    const first = dryRun({});
    await expect(dryRun({})).rejects.toMatchObject({ code: 'rate_limited' });
    expect((await dryRun({}, 10, blue.owner)).examined).toBe(0);
    await first;
    expect((await dryRun({})).examined).toBe(0);
  });
});

describe('tenancy', () => {
  it('shows no call of another workspace', async () => {
    const blue = await identities.workspaceOf(`blue${worlds}`);
    await calls(red.member, 3);
    await calls(blue.member, 2);
    expect((await dryRun({}, 100, blue.owner)).examined).toBe(2);
  });
});
