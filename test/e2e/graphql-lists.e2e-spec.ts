import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply } from '../harness/scripted-reply.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let viewer: TestMember;
let owner: TestMember;
let user: GraphqlMember;
const others: TestApi[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  model.answer(() => textReply(['two ', 'parts']));
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  const people = await api.people.workspaceOf('lists-of');
  viewer = people.viewer;
  owner = people.owner;
  user = graphqlMember(api, owner.key);
});

afterEach(async () => {
  for (const other of others.splice(0)) await other.close();
});

afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

/** An api without a worker over the same data, whose statements are counted. */
async function startQuietApi() {
  const quiet = await startTestApi(database, { takesJobs: false });
  others.push(quiet);
  let count = 0;
  quiet.platform.postgres.api.on('connect', (client) => {
    const send = Reflect.get(client, 'query') as (...args: unknown[]) => unknown;
    Object.assign(client, {
      query: (...args: unknown[]) => {
        count += 1;
        return Reflect.apply(send, client, args);
      },
    });
  });
  const reader = graphqlMember(quiet, owner.key);
  const statementsOf = async (text: string, variables: object = {}) => {
    // Once for what is remembered from request to request, such as who asks: for a second, which does not pass meanwhile.
    const time = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    await reader.query(text, variables);
    const before = count;
    await reader.query(text, variables);
    time.mockRestore();
    return count - before;
  };
  return statementsOf;
}

describe('GraphQL lists', () => {
  it('show each entry once, newest first, forwards and backwards', async () => {
    const { owner: busy } = await api.people.workspaceOf('lists');
    const them = graphqlMember(api, busy.key);
    const ids: string[] = [];
    for (let i = 0; i < 7; i += 1) {
      ids.unshift((await them.start({ message: `Job ${i}` })).jobId ?? '');
    }
    type Page = {
      nodes: { id: string }[];
      pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string; endCursor: string };
    };
    const page = async (args: object) => {
      const text = `query($first: Int, $after: String, $last: Int, $before: String) { jobs(first: $first, after: $after, last: $last, before: $before) {
        nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;
      return (await them.query(text, args))['jobs'] as Page;
    };
    const forwards: string[] = [];
    for (let after: string | null = null; ;) {
      const found: Page = await page({ first: 3, after });
      forwards.push(...found.nodes.map(({ id }) => id));
      if (!found.pageInfo.hasNextPage) break;
      after = found.pageInfo.endCursor;
    }
    const backwards: string[] = [];
    for (let before: string | null = null; ;) {
      const found: Page = await page({ last: 3, before });
      backwards.unshift(...found.nodes.map(({ id }) => id));
      if (!found.pageInfo.hasPreviousPage) break;
      before = found.pageInfo.startCursor;
    }
    expect([forwards, backwards]).toEqual([ids, ids]);
  });

  it('filter by status, kind, thread, creator and time', async () => {
    const { jobId, threadId } = await user.run({ message: 'Only me', threadId: 'narrow' });
    const { thread } = await user.query('{ thread(id: "narrow") { id } }');
    expect(threadId).toBe('narrow');
    const count = async (filter: object) => {
      const { jobs } = await user.query(
        'query($filter: JobFilterInput) { jobs(filter: $filter) { totalCount nodes { id } } }',
        { filter },
      );
      return jobs as { totalCount: number; nodes: { id: string }[] };
    };
    const here = { threadId: { eq: (thread as { id: string }).id } };
    expect(await count({ ...here, status: { eq: 'COMPLETED' } })).toEqual({ totalCount: 1, nodes: [{ id: jobId }] });
    const none: readonly object[] = [
      { status: { in: ['FAILED', 'WAITING'] } },
      { status: { eq: 'COMPLETED', in: ['FAILED'] } },
      { kind: { eq: 'WORKFLOW' } },
      { createdBy: { eq: viewer.principal.userId } },
      { createdBy: { eq: 'nonsense' } },
      { createdAt: { gte: '2100-01-01T00:00:00Z' } },
      { createdAt: { lt: '2000-01-01T00:00:00Z' } },
    ];
    for (const filter of none)
      expect([filter, await count({ ...here, ...filter })]).toEqual([filter, { totalCount: 0, nodes: [] }]);
  });

  it('run the same number of statements for many entries as for few', async () => {
    const statementsOf = await startQuietApi();
    for (let i = 0; i < 6; i += 1) await user.run({ message: `N+1 ${i}` });
    await user.run({ message: 'One', threadId: 'my-thread' });
    const jobs = `query($n: Int) { jobs(first: $n) { totalCount nodes { nodeId content usage { totalTokens } rounds { text } toolCalls { result }
      thread { title messages(first: 5) { totalCount nodes { id } } } } } }`;
    expect(await statementsOf(jobs, { n: 6 })).toBe(await statementsOf(jobs, { n: 2 }));
    const messages =
      '{ thread(id: "my-thread") { messages(first: 50) { nodes { content job { status rounds { text } } } } } }';
    const few = await statementsOf(messages);
    await user.run({ message: 'One more', threadId: 'my-thread' });
    expect(await statementsOf(messages)).toBe(few);
  });

  it('count only when totalCount is requested', async () => {
    const statementsOf = await startQuietApi();
    const without = await statementsOf('{ jobs(first: 1) { nodes { id } } }');
    expect(await statementsOf('{ jobs(first: 1) { totalCount nodes { id } } }')).toBeGreaterThan(without);
  });
});
