import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import type { TestApi, TestMember } from '../harness/api.js';
import type { TestDatabase } from '../harness/database.js';
import { ask } from '../harness/graphql.js';
import { type ManyCalls, openManyCalls } from '../harness/many-calls.js';

describe('toolCalls', () => {
  interface Page {
    readonly nodes: readonly { readonly id: string; readonly name: string }[];
    readonly edges: readonly { readonly cursor: string }[];
    readonly pageInfo: Readonly<Record<string, unknown>>;
    readonly totalCount: number;
    readonly totalCountIsExact: boolean;
  }

  const LIST = `query($filter: ToolCallFilterInput, $orderBy: ToolCallOrderInput, $first: Int, $after: String, $last: Int, $before: String) {
  toolCalls(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    nodes { id name } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount totalCountIsExact } }`;

  let api: TestApi;
  let here: ManyCalls['here'];
  let stranger: TestMember;
  let made: ManyCalls;

  beforeAll(async () => {
    made = await openManyCalls();
    ({ api, here, stranger } = made);
  });

  afterAll(async () => {
    await made.close();
  });

  /** The numbers of the calls of a list. */
  const numbersOf = ({ nodes }: Page) => nodes.map(({ id }) => made.calls.findIndex((call) => call.id === id) + 1);

  const list = async (who: TestMember, variables: object = {}): Promise<Page> => {
    const { data, errors } = await ask(api, LIST, { key: who.key, variables });
    expect(errors).toEqual([]);
    return data?.['toolCalls'] as Page;
  };

  it.each([
    ['nothing', {}, [6, 5, 4, 3, 2, 1]],
    ['tool', { tool: 'crm.find' }, [2]],
    ['a pattern of tools', { tool: 'crm.*' }, [4, 2]],
    ['runtime', { runtime: { eq: 'MCP' } }, [4, 2]],
    ['status', { status: { in: ['ERROR', 'RUNNING'] } }, [5, 3]],
    ['two statuses that exclude each other', { status: { eq: 'ERROR', in: ['RUNNING'] } }, []],
    ['where it failed', { error: { phase: 'execution' } }, [3]],
    ['code of error', { error: { code: 'quota' } }, [3]],
    ['words of an error', { error: { text: 'BLUE quota' } }, [3]],
    ['words that are not all there', { error: { text: 'red quota' } }, []],
    ['arguments', { argument: ['$.to = "user4"'] }, [4]],
    ['arguments of another type', { argument: ['$.n = "4"'] }, []],
    ['duration', { durationMs: { gte: 20, lt: 40 } }, [3, 2]],
    ['time', { createdAt: { gte: '2026-11-20T14:00:00Z', lt: '2026-11-20T16:00:00Z' } }, [3, 2]],
    ['an id that cannot be', { jobId: { eq: 'x' } }, []],
  ] as const)('filters by %s', async (_, filter, expected) => {
    const page = await list(here.admin, { filter });
    expect(numbersOf(page)).toEqual(expected);
    expect([page.totalCount, page.totalCountIsExact]).toEqual([expected.length, true]);
  });

  it('filters by user, job, thread and approver', async () => {
    const user = { createdBy: { eq: here.member.principal.userId } };
    expect(numbersOf(await list(here.owner, { filter: user }))).toEqual([5, 2]);
    expect(numbersOf(await list(here.owner, { filter: { jobId: { eq: made.secondJob } } }))).toEqual([5, 2]);
    expect(
      numbersOf(await list(here.owner, { filter: { threadId: { eq: made.threadId }, status: { eq: 'COMPLETED' } } })),
    ).toEqual([2]);
    const { userId } = here.admin.principal;
    for (const approver of [userId, `user:${userId}`]) {
      expect(numbersOf(await list(here.owner, { filter: { approver } }))).toEqual([4]);
    }
  });

  it('sorts by time or duration, in pages, in both directions', async () => {
    for (const orderBy of [
      { field: 'TIME', direction: 'ASC' },
      { field: 'TIME', direction: 'DESC' },
      { field: 'DURATION', direction: 'ASC' },
      { field: 'DURATION', direction: 'DESC' },
    ]) {
      const ran = orderBy.field === 'TIME' ? [1, 2, 3, 4, 5, 6] : [1, 2, 3, 4, 6];
      const all = orderBy.direction === 'ASC' ? ran : ran.toReversed();
      const first = await list(here.admin, { orderBy, first: 2 });
      expect([numbersOf(first), first.pageInfo['hasNextPage'], first.totalCount]).toEqual([
        all.slice(0, 2),
        true,
        all.length,
      ]);
      const second = await list(here.admin, { orderBy, first: 2, after: first.pageInfo['endCursor'] });
      expect([numbersOf(second), second.pageInfo['hasPreviousPage']]).toEqual([all.slice(2, 4), true]);
      const back = await list(here.admin, { orderBy, last: 2, before: second.pageInfo['startCursor'] });
      expect([numbersOf(back), back.pageInfo['hasPreviousPage']]).toEqual([all.slice(0, 2), false]);
      const end = await list(here.admin, { orderBy, last: 2 });
      expect([numbersOf(end), end.pageInfo['hasNextPage']]).toEqual([all.slice(-2), false]);
    }
  });

  it('rejects a meaningless filter and names the field', async () => {
    const cursor = (await list(here.admin, { first: 1 })).pageInfo['endCursor'];
    for (const [variables, field] of [
      [{ filter: { argument: ['to = x'] } }, 'argument'],
      [{ filter: { argument: Array.from({ length: 4 }, () => '$.a = 1') } }, 'argument'],
      [{ filter: { error: { text: 'x'.repeat(201) } } }, 'errorText'],
      [{ filter: { durationMs: { gte: -1 } } }, 'durationMs'],
      [{ first: 101 }, 'first'],
      [{ after: cursor, orderBy: { field: 'DURATION' } }, 'after'],
      [{ after: 'x' }, 'after'],
    ] as const) {
      const { errors } = await ask(api, LIST, { key: here.admin.key, variables });
      expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field });
    }
  });

  it('shows administrators all calls, other members the calls of their own jobs, and other workspaces none', async () => {
    expect(numbersOf(await list(here.owner))).toHaveLength(6);
    expect(numbersOf(await list(here.member))).toEqual([5, 2]);
    expect(numbersOf(await list(here.member, { filter: { createdBy: { eq: here.owner.principal.userId } } }))).toEqual(
      [],
    );
    expect(numbersOf(await list(here.viewer))).toEqual([]);
    expect(numbersOf(await list(stranger))).toEqual([]);
    expect(numbersOf(await list(stranger, { filter: { argument: ['$.to = "user4"'] } }))).toEqual([]);
    const reading = await api.people.keyOf(here.admin.principal, ['read']);
    expect(numbersOf(await list(reading))).toEqual([]); // a key without `admin` does not administrate
  });

  it('writes one audit entry per request of an administrator', async () => {
    const before = (await made.auditOf('tool-calls-listed')).length;
    await list(here.admin, { filter: { tool: 'add', argument: ['$.key = "sk-abcdefghijklmnopqrstuvwx"'] } });
    await list(here.member);
    const entries = await made.auditOf('tool-calls-listed');
    expect(entries).toHaveLength(before + 1);
    expect(entries[0]).toMatchObject({
      actor: here.admin.principal.id,
      details: { filter: { tool: 'add', arguments: [{ path: ['key'], value: '[redacted]' }] } },
    });
  });
});

describe('GraphQL tool call:', () => {
  /** As the query below asks for it. */
  interface Opened {
    readonly result: string | null;
    readonly content: { readonly proposedArguments: string; readonly result: object | null } | null;
  }

  let database: TestDatabase;
  let api: TestApi;
  let here: ManyCalls['here'];
  let stranger: TestMember;
  let made: ManyCalls;

  beforeAll(async () => {
    made = await openManyCalls();
    ({ api, database, here, stranger } = made);
  });

  afterAll(async () => {
    await made.close();
  });

  describe('toolCall', () => {
    const ONE = `query($id: ID!, $offset: Int, $length: Int) { toolCall(id: $id) { id name result resultBytes runtime createdBy job { id }
    content(resultOffset: $offset, resultLength: $length) { proposedArguments approvedArguments executedArguments
      result { text offset nextOffset totalCharacters } } } }`;
    const open = async (who: TestMember, n: number, variables: object = {}) => {
      const { data, errors } = await ask(api, ONE, {
        key: who.key,
        variables: { id: made.calls[n - 1]?.id, ...variables },
      });
      expect(errors).toEqual([]);
      return data?.['toolCall'] as Opened | null;
    };

    it('shows a truncated call, and all of it in parts', async () => {
      const call = await open(here.admin, 6);
      expect(call).toMatchObject({
        name: 'add',
        resultBytes: 40_001,
        runtime: 'SERVER',
        job: { id: made.calls[5]?.jobId },
      });
      expect(call?.result).toMatch(/\n\[truncated, 40001 bytes in total\]$/);
      expect(call?.content).toMatchObject({
        proposedArguments: '{"to":"user6","n":6}',
        approvedArguments: null,
        result: { offset: 0, nextOffset: null, totalCharacters: 20_001 },
      });
      const part = await open(here.admin, 6, { offset: 19_999, length: 2 });
      expect(part?.content?.result).toEqual({ text: 'é!', offset: 19_999, nextOffset: null, totalCharacters: 20_001 });
      expect((await open(here.admin, 6, { offset: 5, length: 1 }))?.content?.result).toMatchObject({
        text: 'é',
        nextOffset: 6,
      });
    });

    it('returns the whole of a result that is stored outside its row', async () => {
      const { workspaceId } = here.owner.principal;
      const [first] = made.calls;
      await database.postgres.withWorkspaceSql(workspaceId, (client) =>
        client.query(
          'INSERT INTO tool_output (workspace_id, tool_call_id, job_id, text, bytes) VALUES ($1, $2, $3, $4, 11)',
          [...[workspaceId, first?.id, first?.jobId], 'the whole of it'],
        ),
      );
      expect((await open(here.owner, 1))?.content?.result).toMatchObject({
        text: 'the whole of it',
        totalCharacters: 15,
      });
    });

    it('shows only permitted calls and treats others as unknown', async () => {
      expect((await open(here.member, 2))?.content).not.toBeNull();
      expect((await open(here.member, 1))?.content).toBeNull();
      expect((await open(here.viewer, 1))?.content).toBeNull();
      expect(await open(stranger, 1)).toBeNull();
      expect(await open(here.admin, 1, { id: newId() })).toBeNull();
      expect(await open(here.admin, 1, { id: 'x' })).toBeNull();
    });

    it('shows the executed arguments, and the proposed ones of an edited call', async () => {
      const query = `query($id: ID!) { toolCall(id: $id) { arguments proposedArguments
      content { proposedArguments approvedArguments } } }`;
      const seen = async (n: number) => {
        const { data } = await ask(api, query, { key: here.admin.key, variables: { id: made.calls[n - 1]?.id } });
        return data?.['toolCall'] as object;
      };
      const [proposed, approved] = ['{"to":"user4","n":4}', '{"to":"user9"}'];
      expect(await seen(4)).toMatchObject({ arguments: proposed, proposedArguments: null });
      await made.edit(4, approved);
      expect(await seen(4)).toEqual({
        ...{ arguments: approved, proposedArguments: proposed },
        content: { proposedArguments: proposed, approvedArguments: approved },
      });
    });

    it('shows the true reason of a denial to users who may read the policy', async () => {
      const reason = await made.block(2);
      const failureFor = async ({ key }: Pick<TestMember, 'key'>) => {
        const query = 'query($id: ID!) { toolCall(id: $id) { error { phase retryable message reason } } }';
        const { data } = await ask(api, query, { key, variables: { id: made.calls[1]?.id } });
        return (data?.['toolCall'] as { error: object }).error;
      };
      const failure = { phase: 'approval', retryable: false, message: 'Tool "crm.find" is not registered on server.' };
      for (const who of [here.owner, here.admin]) expect(await failureFor(who)).toEqual({ ...failure, reason });
      const narrow = await api.people.keyOf(here.owner.principal, ['read', 'write', 'approve']);
      for (const who of [here.member, here.viewer, narrow])
        expect(await failureFor(who)).toEqual({ ...failure, reason: null });
    });

    it('writes an audit entry when an administrator opens a call', async () => {
      const before = (await made.auditOf('tool-call-opened')).length;
      await open(here.admin, 3);
      await open(here.member, 2);
      const entries = await made.auditOf('tool-call-opened');
      expect(entries.length).toBe(before + 1);
      expect(entries[0]).toMatchObject({ actor: here.admin.principal.id, subject_id: made.calls[2]?.id });
    });
  });

  describe('toolCallStats', () => {
    const STATS = `query($filter: ToolCallFilterInput, $groupBy: [ToolCallDimension!], $bucket: TimeBucket) {
    toolCallStats(filter: $filter, groupBy: $groupBy, bucket: $bucket) { isCut isPartial since
      groups { tool user status time count errorCount errorRate p50Ms p95Ms p99Ms resultBytes } } }`;
    const filter = { createdAt: { gte: '2026-11-20T00:00:00Z' } };
    const stats = async (who: TestMember, variables: object) => {
      const { data, errors } = await ask(api, STATS, { key: who.key, variables });
      expect(errors).toEqual([]);
      return data?.['toolCallStats'] as { groups: Readonly<Record<string, unknown>>[]; since: string | null };
    };

    it('counts calls, errors, durations and bytes', async () => {
      const { groups, since } = await stats(here.admin, { filter, groupBy: ['TOOL'] });
      expect(since).toBe('2026-11-20T13:00:00.000Z');
      expect(groups[0]).toEqual({
        ...{ tool: 'add', user: null, status: null, time: null },
        ...{ count: 4, errorCount: 1, errorRate: 1 / 3, p50Ms: 30, p95Ms: 60, p99Ms: 60, resultBytes: 40_004 },
      });
      expect(groups.map(({ tool, count }) => [tool, count])).toEqual(
        expect.arrayContaining([
          ['crm.find', 1],
          ['crm.update', 1],
        ]),
      );
    });

    it('groups by user, status and time, two at once', async () => {
      const byStatus = await stats(here.admin, { filter, groupBy: ['STATUS', 'USER'] });
      expect(byStatus.groups).toContainEqual(
        expect.objectContaining({
          status: 'RUNNING',
          user: here.member.principal.userId,
          count: 1,
          errorRate: null,
          p50Ms: null,
        }),
      );
      const byDay = await stats(here.admin, { filter, groupBy: ['TIME'], bucket: 'DAY' });
      expect(byDay.groups).toMatchObject([{ time: '2026-11-20T00:00:00.000Z', count: 6 }]);
      const byHour = await stats(here.admin, { filter: { ...filter, tool: 'crm.*' }, groupBy: ['TIME'] });
      expect(byHour.groups.map(({ time, count }) => [time, count])).toEqual([
        ['2026-11-20T14:00:00.000Z', 1],
        ['2026-11-20T16:00:00.000Z', 1],
      ]);
      expect((await stats(here.admin, { filter, groupBy: [] })).groups).toMatchObject([{ count: 6, tool: null }]);
    });

    it('counts only permitted calls and writes an audit entry', async () => {
      expect((await stats(here.member, { filter, groupBy: [] })).groups).toMatchObject([{ count: 2 }]);
      expect((await stats(here.viewer, { filter, groupBy: [] })).groups).toEqual([]);
      expect((await stats(stranger, { filter, groupBy: [] })).groups).toEqual([]);
      const before = (await made.auditOf('tool-calls-counted')).length;
      await stats(here.owner, { filter });
      expect(await made.auditOf('tool-calls-counted')).toHaveLength(before + 1);
    });

    it('rejects three dimensions and a repeated one', async () => {
      for (const groupBy of [
        ['TOOL', 'USER', 'STATUS'],
        ['TOOL', 'TOOL'],
      ]) {
        const { errors } = await ask(api, STATS, { key: here.admin.key, variables: { groupBy } });
        expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'groupBy' });
      }
    });
  });
});
