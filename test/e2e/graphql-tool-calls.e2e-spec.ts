import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { TestApi, TestMember } from '../harness/api.js';
import { ask } from '../harness/graphql.js';
import { type ManyCalls, openManyCalls } from '../harness/many-calls.js';

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
describe('toolCalls', () => {
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

  it('shows administrators the calls of all, others those of their own jobs, strangers none', async () => {
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
