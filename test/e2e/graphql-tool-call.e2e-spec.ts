import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import type { TestApi, TestMember } from '../harness/api.js';
import type { TestDatabase } from '../harness/database.js';
import { ask } from '../harness/graphql.js';
import { type ManyCalls, openManyCalls } from '../harness/many-calls.js';

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
      const query = 'query($id: ID!) { toolCall(id: $id) { error { phase message reason } } }';
      const { data } = await ask(api, query, { key, variables: { id: made.calls[1]?.id } });
      return (data?.['toolCall'] as { error: object }).error;
    };
    const failure = { phase: 'approval', message: 'Tool "crm.find" is not registered on server.' };
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
