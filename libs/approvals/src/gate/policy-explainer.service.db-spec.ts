import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { newId } from '#platform';
import { defineTool } from '#tools';

import { keyOf, openApprovals, type TestApprovals } from '../../../../test/harness/approvals.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { operationOf } from './call-gate.js';
import type { Explanation, ImaginedCall } from './policy-explainer.service.js';

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

function explain(over: Partial<ImaginedCall> = {}, who: MemberPrincipal = red.owner): Promise<Explanation> {
  const call = { tool: 'mail.send', arguments: { amount: 5 }, agent: null, role: null, threadId: null, ...over };
  return approvals.explainer.explain(who, call);
}

const save = (policy: unknown) => approvals.policies.save(red.owner, { policy, expectedVersion: null });

describe('an explanation', () => {
  it('names the rule, its layer and who may decide', async () => {
    await save({
      rules: [
        { match: 'files.*', action: 'block' },
        {
          match: 'mail.*',
          when: 'arguments.amount > 3',
          action: 'require_approval',
          decidableBy: 'approvers',
          timeoutDays: 1,
        },
      ],
    });
    expect(await explain()).toMatchObject({
      policyVersion: 1,
      verdict: {
        action: 'require_approval',
        rule: {
          layer: 'workspace',
          index: 1,
          match: 'mail.*',
          reason: 'Rule 1 of the workspace (mail.*) asks for approval.',
        },
        decidableBy: 'approvers',
        timeoutMs: 86_400_000,
      },
      layers: [{ action: 'auto_approve', rule: { layer: 'instance' } }, { rule: { layer: 'workspace', index: 1 } }],
      isKnownTool: false,
      grantId: null,
    });
    expect((await explain({ arguments: { amount: 1 } })).verdict.action).toBe('auto_approve');
  });

  it('explains the verdict for the role of the hypothetical caller', async () => {
    await save({ rules: [{ match: '*', when: 'principal.role == "member" && agent == "support"', action: 'block' }] });
    expect((await explain()).verdict.action).toBe('auto_approve');
    expect((await explain({ role: 'member', agent: 'support' })).verdict.action).toBe('block');
  });

  it('includes the default of the operator and the approval of the tool', async () => {
    approvals = openApprovals(database, { TOOL_APPROVAL_DEFAULT: 'require_approval' });
    expect((await explain()).verdict).toMatchObject({
      action: 'require_approval',
      rule: { layer: 'instance', index: null },
    });
    const execute = (): string => 'sent';
    const tool = { name: 'mail.send', description: 'Sends.', input: { type: 'object' }, execute };
    approvals.registry.register(defineTool({ ...tool, approval: 'block' }));
    expect(await explain()).toMatchObject({ isKnownTool: true, verdict: { action: 'block', rule: { layer: 'tool' } } });
  });

  it('finds the grant that would approve the call', async () => {
    const { workspaceId, userId: requester, id: grantedBy } = red.owner;
    const threadId = newId();
    await approvals.sql(workspaceId, 'INSERT INTO thread (workspace_id, id, created_by) VALUES ($1, $2, $3)', [
      workspaceId,
      threadId,
      requester,
    ]);
    await save({ default: 'require_approval', rules: [{ match: 'locked', action: 'require_approval', locked: true }] });
    const [send, locked] = ['mail.send', 'locked'].map((name) => {
      const tool = defineTool({ name, description: 'Sends.', input: { type: 'object' }, execute: () => 'sent' });
      approvals.registry.register(tool);
      return operationOf({ name, arguments: '{}' }, tool) ?? '';
    });
    const about = { workspaceId, threadId, requester, agent: null, minutes: 5, interruptId: newId(), grantedBy };
    const [id] = await database.prisma.withWorkspace({ workspaceId }, async (tx) => [
      await approvals.grants.create(tx, { ...about, operation: send ?? '' }),
      await approvals.grants.create(tx, { ...about, operation: locked ?? '' }),
    ]);
    expect((await explain({ threadId })).grantId).toBe(id);
    expect((await explain({ threadId: newId() })).grantId).toBeNull();
    expect((await explain({ threadId: 'x' })).grantId).toBeNull();
    expect((await explain({ threadId, tool: 'locked' })).grantId).toBeNull();
  });

  it('requires the right to see the policy', async () => {
    for (const who of [red.member, red.viewer, keyOf(red.owner, ['read', 'write', 'approve'])])
      await expect(explain({}, who)).rejects.toMatchObject({ code: 'not_found' });
    expect((await explain({}, keyOf(red.admin, ['admin']))).policyVersion).toBe(0);
  });
});
