import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { systemClock } from '#platform';

import { keyOf, openApprovals, type TestApprovals } from '../../../../test/harness/approvals.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { DEFAULT_POLICY } from './approval-policy.js';

let database: TestDatabase;
let identities: TestIdentities;
let red: Record<Role, MemberPrincipal>;
let blue: Record<Role, MemberPrincipal>;
/** Two processes over one database. */
let here: TestApprovals;
let there: TestApprovals;
let worlds = 0;

const asking = { default: 'require_approval' };
const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'done',
    (error: unknown) => (error as { code: string }).code, // every refusal is an AppError
  );

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
});
beforeEach(async () => {
  worlds++;
  red = await identities.workspaceOf(`red${worlds}`);
  blue = await identities.workspaceOf(`blue${worlds}`);
  here = openApprovals(database);
  there = openApprovals(database);
});
afterAll(async () => {
  identities.auth.close();
  await database.close();
});

describe('the policy of a workspace', () => {
  it('equals the default policy, as version 0, until one is saved', async () => {
    const none = { version: 0, policy: DEFAULT_POLICY, createdBy: null, createdAt: null };
    expect(await here.policies.current(red.owner.workspaceId)).toEqual(none);
    expect(await here.policies.find(red.owner)).toEqual(none);
  });

  it('keeps every saved version', async () => {
    const rules = [{ match: 'mail.*', when: 'arguments.amount > 3', action: 'block' }];
    const first = await here.policies.save(red.owner, { policy: { rules }, expectedVersion: null });
    expect(first).toMatchObject({ version: 1, createdBy: red.owner.id, policy: { rules: [{ match: 'mail.*' }] } });
    const second = await here.policies.save(red.admin, { policy: asking, expectedVersion: 1 });
    expect(second).toMatchObject({ version: 2, createdBy: red.admin.id, policy: { default: 'require_approval' } });
    expect(await here.policies.find(red.owner)).toEqual(second);
    expect(await here.policies.find(red.owner, 1)).toEqual(first);
    expect(await here.policies.find(red.owner, 0)).toMatchObject({ version: 0, policy: DEFAULT_POLICY });
    expect(await here.policies.find(red.owner, 3)).toBeNull();
  });

  it('applies at once in the process that saves it, and in others when their cached copy expires', async () => {
    const { workspaceId } = red.owner;
    expect((await there.policies.current(workspaceId)).version).toBe(0);
    await here.policies.save(red.owner, { policy: asking, expectedVersion: null });
    expect((await here.policies.current(workspaceId)).version).toBe(1);
    expect((await openApprovals(database).policies.current(workspaceId)).version).toBe(1);
  });

  it('keeps the cached policies of other workspaces when a policy is saved', async () => {
    const time = jest.spyOn(systemClock, 'monotonic').mockReturnValue(0);
    try {
      const known = here.policies.current(blue.owner.workspaceId);
      await here.policies.save(red.owner, { policy: asking, expectedVersion: null });
      expect(here.policies.current(blue.owner.workspaceId)).toBe(known);
    } finally {
      time.mockRestore();
    }
  });

  it('adds no version when the saved policy is the same', async () => {
    const first = await here.policies.save(red.owner, { policy: asking, expectedVersion: null });
    const again = await here.policies.save(red.admin, { policy: { rules: [], ...asking }, expectedVersion: null });
    expect(again).toEqual(first);
    expect(await here.auditOf(red.owner)).toHaveLength(1);
  });

  it('saves a policy that repeats the default', async () => {
    expect((await here.policies.save(red.owner, { policy: {}, expectedVersion: 0 })).version).toBe(1);
  });

  it('rejects a save over a version that another user saved in between', async () => {
    await here.policies.save(red.owner, { policy: asking, expectedVersion: 0 });
    const late = there.policies.save(red.admin, { policy: {}, expectedVersion: 0 });
    await expect(late).rejects.toMatchObject({ code: 'conflict', field: 'expectedVersion' });
  });

  it('gets one version for each of ten concurrent saves', async () => {
    const policies = Array.from({ length: 10 }, (_, i) => ({ timeoutDays: i + 1 }));
    const saved = await Promise.all(
      policies.map((policy, i) =>
        (i % 2 === 0 ? here : there).policies.save(red.owner, { policy, expectedVersion: null }),
      ),
    );
    expect(saved.map(({ version }) => version).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('refuses an invalid policy, names the field and stores nothing', async () => {
    const save = (policy: unknown) => here.policies.save(red.owner, { policy, expectedVersion: null });
    await expect(save({ rules: [{ match: '*', action: 'ask' }] })).rejects.toMatchObject({ field: 'rules.0.action' });
    await expect(save('text')).rejects.toMatchObject({ code: 'bad_request' });
    await expect(save({ timeoutDays: 1e400 })).rejects.toMatchObject({ code: 'not_storable' });
    expect((await here.policies.find(red.owner))?.version).toBe(0);
  });

  it('replaces characters that Postgres cannot store', async () => {
    const rules = [{ match: 'a\u0000\ud83d', action: 'block' }];
    const saved = await here.policies.save(red.owner, { policy: { rules }, expectedVersion: null });
    expect(saved.policy.rules[0]?.match).toBe('a\uFFFD\uFFFD');
  });

  it('requires approval when this build cannot compile a stored condition', async () => {
    const { workspaceId } = red.owner;
    const policy = {
      ...DEFAULT_POLICY,
      rules: [{ match: '*', when: 'tool.matches("a")', action: 'block', locked: false }],
    };
    await here.sql(workspaceId, 'INSERT INTO approval_policy VALUES ($1, 1, $2, $3)', [
      workspaceId,
      JSON.stringify(policy),
      'x',
    ]);
    expect((await here.policies.current(workspaceId)).policy).toEqual(policy);
    const call = { tool: 't', arguments: {}, agent: null, role: null, threadId: null };
    expect((await here.explainer.explain(red.owner, call)).verdict.action).toBe('require_approval');
  });

  it('writes an audit entry without the rules', async () => {
    await here.policies.save(red.owner, { policy: asking, expectedVersion: null });
    expect(await here.auditOf(red.owner)).toEqual([
      {
        action: 'approval-policy-saved',
        actor: red.owner.id,
        subject_type: 'Workspace',
        subject_id: red.owner.workspaceId,
        details: { version: 1, rules: 0 },
      },
    ]);
  });
});

describe('access to the policy', () => {
  const save = (who: MemberPrincipal): Promise<unknown> =>
    code(here.policies.save(who, { policy: asking, expectedVersion: null }));
  const see = (who: MemberPrincipal): Promise<unknown> => code(here.policies.find(who));

  it.each<[Role, string]>([
    ['owner', 'done'],
    ['admin', 'done'],
    ['member', 'not_found'],
    ['viewer', 'not_found'],
  ])('%s: %s', async (role, outcome) => {
    expect([await save(red[role]), await see(red[role])]).toEqual([outcome, outcome]);
  });

  it('API keys: only with the scope admin', async () => {
    expect(await save(keyOf(red.owner, ['admin']))).toBe('done');
    expect(await save(keyOf(red.owner, ['read', 'write', 'approve']))).toBe('not_found');
    expect(await see(keyOf(red.owner, ['read', 'write', 'approve']))).toBe('not_found');
  });

  it('denies every principal of another workspace', async () => {
    await save(red.owner);
    expect((await here.policies.find(blue.owner))?.version).toBe(0);
    await here.policies.save(blue.owner, { policy: { timeoutDays: 1 }, expectedVersion: null });
    expect((await here.policies.find(red.owner))?.policy.timeoutDays).toBe(7);
  });
});

describe('row-level security', () => {
  it('hides policies of another workspace, and rejects inserts into it', async () => {
    await here.policies.save(red.owner, { policy: asking, expectedVersion: null });
    const { workspaceId } = blue.owner;
    expect(await here.sql(workspaceId, 'SELECT FROM approval_policy', [])).toEqual([]);
    const insert = here.sql(workspaceId, `INSERT INTO approval_policy VALUES ($1, 2, '{}', 'x')`, [
      red.owner.workspaceId,
    ]);
    await expect(insert).rejects.toThrow(/row-level security/);
  });

  it('rejects updates and deletes of a version', async () => {
    await here.policies.save(red.owner, { policy: asking, expectedVersion: null });
    const { workspaceId } = red.owner;
    await expect(here.sql(workspaceId, `UPDATE approval_policy SET policy = '{}'`, [])).rejects.toThrow(
      /permission denied/,
    );
    await expect(here.sql(workspaceId, 'DELETE FROM approval_policy', [])).rejects.toThrow(/permission denied/);
  });
});
