import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';
import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ask, RawSocket } from '../harness/graphql.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { layOutWaitingJob, makeSubJob, openInterrupt, type WaitingJob } from '../harness/interrupts.js';

let database: TestDatabase;
let api: TestApi;
let here: Record<Role, TestMember>;
let stranger: TestMember;
let worlds = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  // No worker runs here, so resumed jobs stay queued.
  api = await startTestApi(database, { takesJobs: false });
  stranger = (await api.people.workspaceOf('elsewhere')).owner;
});
beforeEach(async () => {
  worlds += 1;
  here = await api.people.workspaceOf(`here${worlds}`);
});
afterAll(async () => {
  await api.close();
  await database.close();
});

const query = (who: TestMember, text: string, variables?: object) => graphqlMember(api, who.key).query(text, variables);
const layOut = (who = here.member) => layOutWaitingJob(api.api.app, who.principal);
const open = (job: WaitingJob, changes: Parameters<typeof openInterrupt>[2] = {}) =>
  openInterrupt(api.api.app, job, changes);

const LIST = `query($first: Int, $after: String, $last: Int, $before: String, $filter: InterruptFilterInput) {
  interrupts(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
    totalCount nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;
const RESOLVE = `mutation($input: ResolveInterruptInput!) {
  resolveInterrupt(input: $input) { interrupt { id status outcome decidedBy mayDecide } userErrors { code message field issues retryable } }
}`;

interface Page {
  readonly totalCount: number;
  readonly nodes: readonly { readonly id: string }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string;
    readonly endCursor: string;
  };
}

async function list(who: TestMember, args: object = {}): Promise<Page> {
  return (await query(who, LIST, args))['interrupts'] as Page;
}

const idsOf = ({ nodes }: Page) => nodes.map(({ id }) => id);
const resolve = async (who: TestMember, input: object) => (await query(who, RESOLVE, { input }))['resolveInterrupt'];

describe('interrupts over GraphQL', () => {
  it('appear once in lists, newest first, forwards and backwards', async () => {
    const job = await layOut();
    const ids: string[] = [];
    for (let i = 0; i < 7; i += 1) ids.unshift(await open(job));
    const forwards: string[] = [];
    for (let after: string | null = null; ;) {
      const page: Page = await list(here.viewer, { first: 3, after });
      forwards.push(...idsOf(page));
      if (!page.pageInfo.hasNextPage) break;
      after = page.pageInfo.endCursor;
    }
    const backwards: string[] = [];
    for (let before: string | null = null; ;) {
      const page: Page = await list(here.viewer, { last: 3, before });
      backwards.unshift(...idsOf(page));
      if (!page.pageInfo.hasPreviousPage) break;
      before = page.pageInfo.startCursor;
    }
    expect([forwards, backwards]).toEqual([ids, ids]);
  });

  it('can be filtered by status, kind, tool, job, thread, assignee and age', async () => {
    const [mine, other] = [await layOut(here.member), await layOut(here.owner)];
    const question = await open(mine);
    const approval = await open(mine, { kind: 'tool_approval', tool: 'mail.send', decidableBy: 'approvers' });
    const settled = await open(other);
    const theirs = await open(other, { kind: 'client_tool' });
    await resolve(here.owner, { id: settled, action: 'SKIP' });
    const cases: readonly (readonly [TestMember, object, readonly string[]])[] = [
      [here.viewer, {}, [theirs, settled, approval, question]],
      [here.viewer, { status: { eq: 'OPEN' } }, [theirs, approval, question]],
      [here.viewer, { status: { in: ['RESOLVED', 'EXPIRED'] } }, [settled]],
      [here.viewer, { status: { eq: 'OPEN', in: ['RESOLVED'] } }, []],
      [here.viewer, { kind: { in: ['TOOL_APPROVAL', 'CLIENT_TOOL'] } }, [theirs, approval]],
      [here.viewer, { tool: { eq: 'mail.send' } }, [approval]],
      [here.viewer, { jobId: { eq: other.jobId } }, [theirs, settled]],
      [here.viewer, { threadId: { eq: mine.threadId } }, [approval, question]],
      [here.viewer, { threadId: { eq: 'nonsense' } }, []],
      [here.viewer, { assignee: { eq: 'MINE' } }, []],
      [here.member, { assignee: { eq: 'MINE' } }, [question]],
      [here.owner, { assignee: { eq: 'MINE' } }, [settled, approval]],
      [here.owner, { assignee: { eq: here.member.principal.userId } }, [question]],
      [
        here.owner,
        { createdAt: { gte: '2000-01-01T00:00:00Z', lt: '2100-01-01T00:00:00Z' } },
        [theirs, settled, approval, question],
      ],
      [here.owner, { createdAt: { lt: '2000-01-01T00:00:00Z' } }, []],
      [stranger, {}, []],
      [stranger, { jobId: { eq: mine.jobId } }, []],
    ];
    for (const [who, filter, ids] of cases) {
      const found = await list(who, { filter });
      expect([filter, idsOf(found), found.totalCount]).toEqual([filter, ids, ids.length]);
    }
  });

  it('of a job and its sub-jobs are listed for users who may read them', async () => {
    const [root, child, other] = [await layOut(), await layOut(), await layOut()];
    const before = await open(child);
    await makeSubJob(api.api.app, child, root);
    const [own, after] = [await open(root), await open(child)];
    const elsewhere = await open(other);
    await resolve(here.member, { id: before, action: 'SKIP' });
    const cases: readonly (readonly [TestMember, object, readonly string[]])[] = [
      [here.viewer, { rootJobId: { eq: root.jobId } }, [after, own, before]],
      [here.member, { rootJobId: { eq: root.jobId }, status: { eq: 'OPEN' }, assignee: { eq: 'MINE' } }, [after, own]],
      [here.viewer, { rootJobId: { eq: root.jobId }, jobId: { eq: child.jobId } }, [after, before]],
      [here.viewer, { rootJobId: { eq: child.jobId } }, [after, before]],
      [here.viewer, { rootJobId: { eq: other.jobId } }, [elsewhere]],
      [here.viewer, { rootJobId: { eq: 'nonsense' } }, []],
      [stranger, { rootJobId: { eq: root.jobId } }, []],
    ];
    for (const [who, filter, ids] of cases) {
      const found = await list(who, { filter });
      expect([filter, idsOf(found), found.totalCount]).toEqual([filter, ids, ids.length]);
    }
  });

  it('contain their job, and a job contains its open requests', async () => {
    const job = await layOut();
    const request = { mode: 'input', prompt: 'Which?', inputSchema: { type: 'string' } };
    const id = await open(job, {
      title: 'Which?',
      request,
      toolCallId: job.toolCallId,
      callId: 'call_1',
      nodeId: 'n1',
    });
    await resolve(here.member, { id: await open(job), action: 'SKIP' });
    const fields = `id kind status jobId rootJobId threadId tool toolCallId callId workflowNodeId path title request requester
      decidableBy fourEyes adminRequired outcome decidedBy decidedAt expiresAt mayDecide`;
    const { interrupt, job: found } = await query(
      here.member,
      `query($id: ID!, $job: ID!) { interrupt(id: $id) { ${fields} nodeId job { id } } job(id: $job) { interrupts { id } } }`,
      { id, job: job.jobId },
    );
    const { nodeId, ...shown } = interrupt as { nodeId: string };
    expect(shown).toEqual({
      id,
      kind: 'HUMAN_INPUT',
      status: 'OPEN',
      jobId: job.jobId,
      rootJobId: job.jobId,
      threadId: job.threadId,
      tool: null,
      toolCallId: job.toolCallId,
      callId: 'call_1',
      workflowNodeId: 'n1',
      path: [],
      title: 'Which?',
      request,
      requester: here.member.principal.userId,
      decidableBy: 'REQUESTER',
      fourEyes: false,
      adminRequired: false,
      outcome: null,
      decidedBy: null,
      decidedAt: null,
      expiresAt: null,
      mayDecide: true,
      job: { id: job.jobId },
    });
    expect(found).toEqual({ interrupts: [{ id }] });
    const again = await query(here.viewer, 'query($id: ID!) { node(id: $id) { ... on Interrupt { id mayDecide } } }', {
      id: nodeId,
    });
    expect(again).toEqual({ node: { id, mayDecide: false } });
    expect(await query(stranger, 'query($id: ID!) { interrupt(id: $id) { id } }', { id })).toEqual({ interrupt: null });
  });
});

describe('resolveInterrupt', () => {
  it('settles a request once; a repeat succeeds, and another answer gets a conflict with the first', async () => {
    const job = await layOut();
    const id = await open(job);
    const resolved = { id, status: 'RESOLVED', outcome: 'skip', decidedBy: here.member.principal.id, mayDecide: false };
    const skip = { id, action: 'SKIP' };
    for (let i = 0; i < 2; i += 1) {
      expect(await resolve(here.member, skip)).toEqual({ interrupt: resolved, userErrors: [] });
    }
    expect(await resolve(here.member, { id, action: 'REJECT' })).toEqual({
      interrupt: resolved,
      userErrors: [
        { code: 'already_answered', message: 'Request already answered', field: null, issues: [], retryable: false },
      ],
    });
    const { job: after } = await query(here.member, 'query($id: ID!) { job(id: $id) { status } }', { id: job.jobId });
    expect(after).toEqual({ status: 'QUEUED' });
  });

  it('rejects an invalid answer and leaves the request open', async () => {
    const job = await layOut();
    const inputSchema = { type: 'object', required: ['a', 'b'] };
    const id = await open(job, { request: { mode: 'input', prompt: 'x', inputSchema } });
    const stillOpen = { id, status: 'OPEN' };
    const cases: readonly (readonly [TestMember, object, object])[] = [
      [here.viewer, { action: 'SKIP' }, { code: 'cannot_decide' }],
      [here.owner, { action: 'SKIP' }, { code: 'cannot_decide' }],
      [here.member, {}, { code: 'bad_request', field: 'action', message: 'Missing action' }],
      [here.member, { action: 'SKIP', reason: 'x'.repeat(501) }, { code: 'bad_request', field: 'reason' }],
      [here.member, { action: 'SUBMIT', data: {} }, { code: 'invalid_input', field: 'data', issues: { length: 2 } }],
    ];
    for (const [who, answer, error] of cases) {
      expect(await resolve(who, { id, ...answer })).toMatchObject({ interrupt: stillOpen, userErrors: [error] });
    }
  });

  it('rejects a field of another kind by name and leaves the request open', async () => {
    const id = await open(await layOut(), { kind: 'unknown_outcome' });
    expect(await resolve(here.member, { id, decision: 'HAPPENED', data: 'sent' })).toMatchObject({
      interrupt: { status: 'OPEN' },
      userErrors: [
        { code: 'bad_request', field: 'data', message: 'data is not a field of an answer to unknown_outcome' },
      ],
    });
  });

  it('treats a request of another tenant as unknown', async () => {
    const id = await open(await layOut());
    for (const absent of [id, newId(), 'nonsense']) {
      expect(await resolve(stranger, { id: absent, action: 'SKIP' })).toEqual({
        interrupt: null,
        userErrors: [{ code: 'not_found', message: 'Request not found', field: null, issues: [], retryable: false }],
      });
    }
  });

  it('rejects an answer without a credential for a workspace', async () => {
    const { errors } = await ask(api, '{ interrupts { nodes { id } } }', {});
    expect(errors[0]?.extensions['code']).toBe('UNAUTHENTICATED');
  });
});

describe('interruptActivity', () => {
  const open = (job: WaitingJob) => openInterrupt(api.api.app, job);
  const skip = (who: TestMember, id: string) =>
    graphqlMember(api, who.key).query(
      'mutation($id: ID!) { resolveInterrupt(input: { id: $id, action: SKIP }) { userErrors { code } } }',
      { id },
    );

  const ACTIVITY =
    'subscription($filter: InterruptFilterInput) { interruptActivity(filter: $filter) { id status job { id status } } }';

  interface Seen {
    readonly id: string;
    readonly status: string;
    readonly job: { readonly id: string; readonly status: string };
  }

  async function watch(who: TestMember, filter: object = {}) {
    const socket = await RawSocket.enter(api, who.key);
    socket.send({ id: '1', type: 'subscribe', payload: { query: ACTIVITY, variables: { filter } } });
    const seen = () =>
      socket.messages
        .filter(({ type }) => type === 'next')
        .map(({ payload }) => (payload as { data: { interruptActivity: Seen } }).data.interruptActivity);
    const until = (id: string, status: string) =>
      socket.until(({ payload }) => {
        const item = (payload as { data?: { interruptActivity?: Seen } } | undefined)?.data?.interruptActivity;
        return item?.id === id && item.status === status;
      });
    return { socket, seen, until };
  }

  it('sends the open requests first, then each one that is opened or settled', async () => {
    const job = await layOut();
    const before = await open(job);
    const { socket, seen, until } = await watch(here.viewer);
    await until(before, 'OPEN');
    const opened = await open(job);
    await until(opened, 'OPEN');
    await skip(here.member, before);
    await until(before, 'RESOLVED');
    await skip(here.member, opened);
    await until(opened, 'RESOLVED');
    expect(seen().map(({ id, status, job: { status: jobStatus } }) => [id, status, jobStatus])).toEqual([
      [before, 'OPEN', 'WAITING'],
      [opened, 'OPEN', 'WAITING'],
      [before, 'RESOLVED', 'WAITING'],
      [opened, 'RESOLVED', 'QUEUED'],
    ]);
    socket.close();
  });

  it('sends the interrupt that `cancelJob` has cancelled', async () => {
    const job = await layOut();
    const id = await open(job);
    const { socket, until } = await watch(here.owner);
    await until(id, 'OPEN');
    const cancel = 'mutation($id: ID!) { cancelJob(input: { jobId: $id }) { state } }';
    await graphqlMember(api, here.member.key).query(cancel, { id: job.jobId });
    await until(id, 'CANCELLED');
    socket.close();
  });

  it('applies the filter and sends nothing of another tenant', async () => {
    const [mine, others] = [await layOut(here.member), await layOut(here.owner)];
    const { socket, seen, until } = await watch(here.member, { assignee: { eq: 'MINE' } });
    const foreign = await watch(stranger);
    const theirs = await layOutWaitingJob(api.api.app, stranger.principal);
    await open(others);
    const wanted = await open(mine);
    await until(wanted, 'OPEN');
    const own = await open(theirs);
    await foreign.until(own, 'OPEN');
    expect([seen().map(({ id }) => id), foreign.seen().map(({ id }) => id)]).toEqual([[wanted], [own]]);
    socket.close();
    foreign.socket.close();
  });

  it('sends the requests of a job and its sub-jobs, and of no other job', async () => {
    const [root, child, other] = [await layOut(), await layOut(), await layOut()];
    await makeSubJob(api.api.app, child, root);
    const own = await open(root);
    const { socket, seen, until } = await watch(here.viewer, { rootJobId: { eq: root.jobId } });
    await until(own, 'OPEN');
    await open(other);
    const asked = await open(child);
    await until(asked, 'OPEN');
    await skip(here.member, asked);
    await until(asked, 'RESOLVED');
    expect(seen().map(({ id, status }) => [id, status])).toEqual([
      [own, 'OPEN'],
      [asked, 'OPEN'],
      [asked, 'RESOLVED'],
    ]);
    socket.close();
  });

  it('sends every request of a large inbox', async () => {
    const job = await layOut();
    const ids: string[] = [];
    for (let i = 0; i < 120; i += 1) ids.unshift(await open(job));
    const { socket, seen, until } = await watch(here.viewer);
    await until(ids.at(-1) ?? '', 'OPEN');
    expect(seen().map(({ id }) => id)).toEqual(ids);
    socket.close();
  });

  it('closes the connection of a removed member', async () => {
    const id = await open(await layOut());
    const { socket, until } = await watch(here.member);
    await until(id, 'OPEN');
    await api.auth.members.remove(here.owner.person, here.member.principal.userId);
    expect(await socket.closed).toMatchObject({ code: 4403 });
  });
});
