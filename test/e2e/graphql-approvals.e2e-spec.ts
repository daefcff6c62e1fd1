import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ApprovalGrantsService, operationOf } from '#approvals';
import type { Role } from '#auth';
import { newId } from '#platform';
import { ToolRegistry } from '#tools';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ask } from '../harness/graphql.js';
import { graphqlMember } from '../harness/graphql-member.js';

let database: TestDatabase;
let api: TestApi;
let red: Record<Role, TestMember>;
let blue: Record<Role, TestMember>;
let worlds = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await startTestApi(database, { takesJobs: false });
});
afterAll(async () => {
  await api.close();
  await database.close();
});

const query = (who: TestMember, text: string, variables?: object) => graphqlMember(api, who.key).query(text, variables);

const SAVE = `mutation($policy: JSON!, $expected: Int) {
  saveApprovalPolicy(input: { policy: $policy, expectedVersion: $expected }) {
    approvalPolicy { version policy createdBy createdAt } userErrors { code field message }
  }
}`;
const READ = '{ approvalPolicy { version policy } }';
const EXPLAIN = `query($tool: String! = "mail.send", $arguments: JSON, $role: MemberRole, $thread: ID) {
  explainPolicy(tool: $tool, arguments: $arguments, role: $role, threadId: $thread) {
    policyVersion isKnownTool grantId layers { action rule { layer } }
    verdict { action timeoutMs expireAction decidableBy fourEyes locked rule { layer index match reason } } }
}`;
const DRY_RUN = `query($policy: JSON!, $calls: Int) {
  dryRunPolicy(policy: $policy, lastCalls: $calls) {
    examined isComplete changed before { autoApprove requireApproval block } after { autoApprove requireApproval block }
    changes { id jobId tool before after reason } rules { index hits }
  }
}`;
const GRANTS = `query($first: Int, $after: String, $filter: ApprovalGrantFilterInput) {
  approvalGrants(first: $first, after: $after, filter: $filter) {
    nodes { id threadId requester agent operation grantedBy isActive revokedBy expiresAt } pageInfo { hasNextPage endCursor }
  }
}`;
const REVOKE = `mutation($id: ID!) {
  revokeApprovalGrant(input: { id: $id }) { approvalGrant { id isActive revokedBy } userErrors { code message } }
}`;

const policy = {
  default: 'auto_approve',
  rules: [
    {
      match: 'mail.*',
      when: 'arguments.amount > 3 && principal.role == "member"',
      action: 'require_approval',
      decidableBy: 'approvers',
    },
  ],
};

async function newWorlds(): Promise<void> {
  worlds++;
  red = await api.people.workspaceOf(`red${worlds}`);
  blue = await api.people.workspaceOf(`blue${worlds}`);
}

async function give(to: TestMember, by: TestMember, operation: string | null = 'mail.send'): Promise<string> {
  const { workspaceId, userId: requester } = to.principal;
  const threadId = newId();
  return database.prisma.withWorkspace({ workspaceId }, async (tx) => {
    await tx.thread.create({ data: { workspaceId, id: threadId, createdBy: requester } });
    const grants = api.api.app.get(ApprovalGrantsService);
    const about = { workspaceId, threadId, requester, agent: null, minutes: 10, interruptId: newId() };
    return grants.create(tx, { ...about, operation: operation ?? '', grantedBy: by.principal.id });
  });
}

/** Calls of one job, `{"amount":1}`, `{"amount":2}` … */
async function calls({ principal }: TestMember, count: number): Promise<void> {
  const { workspaceId, userId, id } = principal;
  const jobId = newId();
  await database.postgres.withWorkspaceSql(workspaceId, async (client) => {
    await client.query(
      `INSERT INTO job (workspace_id, id, kind, created_by, principal, model, input) VALUES ($1, $2, 'chat', $3, $4, 'm', '{}')`,
      [workspaceId, jobId, userId, id],
    );
    for (let n = 1; n <= count; n++) {
      await client.query(
        `INSERT INTO tool_call (workspace_id, id, job_id, round, ordinal, call_id, name, arguments, effect, status, idem_key)
         VALUES ($1, $2::uuid, $3, 1, $4, 'c', 'mail.send', $5, 'pure', 'completed', ($2::uuid)::text)`,
        [workspaceId, newId(), jobId, n, JSON.stringify({ amount: n })],
      );
    }
  });
}

describe('the GraphQL API of approval policies', () => {
  beforeAll(newWorlds);

  it('saves and reads the policy and keeps its versions', async () => {
    expect(await query(red.owner, READ)).toMatchObject({
      approvalPolicy: { version: 0, policy: { default: 'auto_approve', rules: [] } },
    });
    const { saveApprovalPolicy } = await query(red.admin, SAVE, { policy, expected: 0 });
    expect(saveApprovalPolicy).toMatchObject({
      approvalPolicy: {
        version: 1,
        createdBy: red.admin.principal.id,
        policy: { timeoutDays: 7, rules: [{ locked: false }] },
      },
      userErrors: [],
    });
    expect(await query(red.owner, SAVE, { policy: {}, expected: 1 })).toMatchObject({
      saveApprovalPolicy: { approvalPolicy: { version: 2 } },
    });
    expect(await query(red.owner, '{ approvalPolicy(version: 1) { version policy } }')).toMatchObject({
      approvalPolicy: { version: 1, policy: { rules: [{ decidableBy: 'approvers' }] } },
    });
  });

  it('names the faults of a policy', async () => {
    const wrong = {
      rules: [
        { match: '*', action: 'block' },
        { match: '*', when: 'tool.matches("(a+)+$")', action: 'block' },
      ],
    };
    expect(await query(red.owner, SAVE, { policy: wrong })).toMatchObject({
      saveApprovalPolicy: { approvalPolicy: null, userErrors: [{ code: 'bad_request', field: 'rules.1.when' }] },
    });
    expect(await query(red.owner, SAVE, { policy: {}, expected: 1 })).toMatchObject({
      saveApprovalPolicy: { approvalPolicy: null, userErrors: [{ code: 'conflict', field: 'expectedVersion' }] },
    });
  });

  it.each<Role>(['member', 'viewer'])('hides the policy from a %s', async (role) => {
    const who = red[role];
    expect(await query(who, READ)).toEqual({ approvalPolicy: null });
    expect(await query(who, EXPLAIN)).toEqual({ explainPolicy: null });
    expect(await query(who, DRY_RUN, { policy })).toEqual({ dryRunPolicy: null });
    expect(await query(who, SAVE, { policy })).toMatchObject({
      saveApprovalPolicy: { approvalPolicy: null, userErrors: [{ code: 'not_found' }] },
    });
  });

  it('hides the policy from a key without the scope admin', async () => {
    const key = await api.people.keyOf(red.owner.principal, ['read', 'write', 'approve']);
    expect(await query(key, READ)).toEqual({ approvalPolicy: null });
    expect(await query(key, SAVE, { policy })).toMatchObject({
      saveApprovalPolicy: { userErrors: [{ code: 'not_found' }] },
    });
  });

  it('keeps the policies of workspaces apart', async () => {
    expect(await query(blue.owner, READ)).toMatchObject({ approvalPolicy: { version: 0 } });
    expect(await query(blue.owner, '{ approvalPolicy(version: 1) { version } }')).toEqual({ approvalPolicy: null });
  });
});

describe('explainPolicy and dryRunPolicy:', () => {
  beforeAll(async () => {
    await newWorlds();
    await query(red.owner, SAVE, { policy });
  });

  it('explainPolicy returns the matching rule of a call and its approvers', async () => {
    expect(await query(red.owner, EXPLAIN, { arguments: { amount: 5 }, role: 'MEMBER' })).toEqual({
      explainPolicy: {
        policyVersion: 1,
        isKnownTool: false,
        grantId: null,
        layers: [
          { action: 'AUTO_APPROVE', rule: { layer: 'INSTANCE' } },
          { action: 'REQUIRE_APPROVAL', rule: { layer: 'WORKSPACE' } },
        ],
        verdict: {
          ...{ action: 'REQUIRE_APPROVAL', timeoutMs: 604_800_000, expireAction: 'DENY' },
          ...{ decidableBy: 'APPROVERS', fourEyes: false, locked: false },
          rule: {
            layer: 'WORKSPACE',
            index: 0,
            match: 'mail.*',
            reason: 'Rule 0 of the workspace (mail.*) asks for approval.',
          },
        },
      },
    });
    expect(await query(red.owner, EXPLAIN, { arguments: { amount: 5 } })).toMatchObject({
      explainPolicy: { verdict: { action: 'AUTO_APPROVE', rule: { layer: 'INSTANCE', index: null } } },
    });
  });

  it('dryRunPolicy evaluates a draft on past calls', async () => {
    await calls(red.member, 17);
    await calls(blue.member, 3);
    const draft = { rules: [{ match: '*', when: 'arguments.amount > 1', action: 'require_approval' }] };
    const { dryRunPolicy } = await query(red.owner, DRY_RUN, { policy: draft });
    expect(dryRunPolicy).toMatchObject({
      examined: 17,
      isComplete: true,
      before: { autoApprove: 3, requireApproval: 14, block: 0 },
      after: { autoApprove: 1, requireApproval: 16, block: 0 },
      changed: 2,
      changes: [
        { tool: 'mail.send', before: 'AUTO_APPROVE', after: 'REQUIRE_APPROVAL' },
        { tool: 'mail.send', before: 'AUTO_APPROVE', after: 'REQUIRE_APPROVAL' },
      ],
      rules: [
        { index: 0, hits: 16 },
        { index: null, hits: 1 },
      ],
    });
    expect(await query(red.owner, DRY_RUN, { policy: draft, calls: 5 })).toMatchObject({
      dryRunPolicy: { examined: 5 },
    });
    expect(await query(red.owner, READ)).toMatchObject({ approvalPolicy: { version: 1 } });
  });

  it('dryRunPolicy rejects invalid drafts and too many calls', async () => {
    const of = async (variables: object) =>
      (await ask(api, DRY_RUN, { key: red.owner.key, variables })).errors[0]?.extensions;
    expect(await of({ policy: { rules: [{ match: '*' }] } })).toMatchObject({ code: 'BAD_USER_INPUT' });
    expect(await of({ policy: {}, calls: 10_001 })).toMatchObject({ code: 'BAD_USER_INPUT' });
  });

  it('the cost limit rejects two dry runs in one document', async () => {
    const twice =
      'query($p: JSON!) { a: dryRunPolicy(policy: $p) { examined } b: dryRunPolicy(policy: $p) { examined } }';
    const { errors } = await ask(api, twice, { key: red.owner.key, variables: { p: {} } });
    expect(errors.length).toBeGreaterThan(0);
  });
});

describe('the GraphQL API of timed grants', () => {
  beforeAll(newWorlds);

  it('lists grants in pages, to their requesters, grantors and approvers', async () => {
    const mine = await give(red.member, red.member);
    const admins = await give(red.admin, red.owner);
    const ids = async (who: TestMember, variables?: object) => {
      const { approvalGrants } = await query(who, GRANTS, variables);
      return (approvalGrants as { nodes: { id: string }[] }).nodes.map(({ id }) => id);
    };
    expect(await ids(red.owner)).toEqual([admins, mine]);
    expect(await ids(red.member)).toEqual([mine]);
    expect(await ids(red.viewer)).toEqual([]);
    expect(await ids(blue.owner)).toEqual([]);
    const { approvalGrants } = await query(red.owner, GRANTS, { first: 1 });
    const { pageInfo } = approvalGrants as { pageInfo: { endCursor: string } };
    expect(pageInfo).toMatchObject({ hasNextPage: true });
    expect(await ids(red.owner, { first: 1, after: pageInfo.endCursor })).toEqual([mine]);
    expect(await ids(red.owner, { filter: { isActive: true } })).toEqual([admins, mine]);
    expect(await ids(red.owner, { filter: { threadId: newId() } })).toEqual([]);
    expect(await ids(red.owner, { filter: { threadId: 'nonsense' } })).toEqual([]);
  });

  it('names the grant in an explanation', async () => {
    await query(red.owner, SAVE, { policy: { default: 'require_approval' } });
    const tool = api.api.app.get(ToolRegistry).find('calculate');
    const id = await give(red.owner, red.owner, operationOf({ name: 'calculate', arguments: '{}' }, tool ?? null));
    const { approvalGrants } = await query(red.owner, GRANTS, { first: 1 });
    const [{ threadId } = { threadId: '' }] = (approvalGrants as { nodes: { threadId: string }[] }).nodes;
    const explained = await query(red.owner, EXPLAIN, { tool: 'calculate', thread: threadId });
    expect(explained).toMatchObject({ explainPolicy: { grantId: id } });
  });

  it('ends a grant at once when its requester or grantor revokes it', async () => {
    const id = await give(red.member, red.admin);
    for (const who of [red.viewer, blue.owner]) {
      expect(await query(who, REVOKE, { id })).toEqual({
        revokeApprovalGrant: {
          approvalGrant: null,
          userErrors: [{ code: 'not_found', message: 'Grant not found or unauthorized' }],
        },
      });
    }
    const key = await api.people.keyOf(red.member.principal, ['read', 'write']);
    const { errors } = await ask(api, REVOKE, { key: key.key, variables: { id } });
    expect(errors[0]?.extensions).toMatchObject({ code: 'FORBIDDEN' });
    const ended = { approvalGrant: { id, isActive: false, revokedBy: red.member.principal.id }, userErrors: [] };
    expect(await query(red.member, REVOKE, { id })).toEqual({ revokeApprovalGrant: ended });
    expect(await query(red.owner, REVOKE, { id })).toEqual({ revokeApprovalGrant: ended });
  });

  it('ends grants when a new policy is saved', async () => {
    const id = await give(red.member, red.member);
    await query(red.owner, SAVE, { policy: { timeoutDays: worlds } });
    const { approvalGrants } = await query(red.member, GRANTS, { first: 1 });
    expect(approvalGrants).toMatchObject({ nodes: [{ id, isActive: false, revokedBy: red.owner.principal.id }] });
  });
});
