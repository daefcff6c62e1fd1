import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { type GraphqlMember, graphqlMember, type Started } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let owner: TestMember;
let viewer: TestMember;
let user: GraphqlMember;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  model.answer(() => textReply(['two ', 'parts']));
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  const people = await api.people.workspaceOf('queries');
  owner = people.owner;
  viewer = people.viewer;
  user = graphqlMember(api, people.owner.key);
});

afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

describe('GraphQL jobs:', () => {
  describe('job query', () => {
    it('shows messages, calls and usage to users who may read the job', async () => {
      model.enqueue(
        toolCallReply([{ id: 'call_1', name: 'calculate', arguments: '{"expression":"6*7"}' }], {
          text: 'Let me see. ',
        }),
        textReply(['It is 42.']),
      );
      const { jobId, threadId } = await user.run({
        message: 'What is 6*7?',
        tools: ['calculate'],
        clientMessageId: 'm-1',
      });
      const text = `query($id: ID!, $thread: ID!) {
      job(id: $id) { kind status content model attempt reason error { code } retryOf createdBy messageClientId usage { totalTokens }
        thread { id title } rounds { number text finishReason partial usage { totalTokens } }
        toolCalls { callId round ordinal name arguments status effect result error { message } durationMs } }
      messages(threadId: $thread) { totalCount nodes { position role content clientId job { id } } }
    }`;
      const find = 'query($thread: ID!, $message: ID!) { jobOfMessage(threadId: $thread, messageId: $message) { id } }';
      const found = (message: string) => user.query(find, { thread: threadId, message });
      expect([await found('m-1'), await found('m-2')]).toEqual([
        { jobOfMessage: { id: jobId } },
        { jobOfMessage: null },
      ]);
      for (const key of [owner.key, viewer.key]) {
        expect(await graphqlMember(api, key).query(text, { id: jobId, thread: threadId })).toMatchObject({
          job: {
            ...{
              kind: 'CHAT',
              status: 'COMPLETED',
              content: 'Let me see. It is 42.',
              attempt: 0,
              error: null,
              retryOf: null,
            },
            ...{ createdBy: owner.principal.userId, messageClientId: 'm-1', usage: { totalTokens: 36 } },
            thread: { title: 'What is 6*7?' },
            rounds: [
              { number: 1, text: 'Let me see. ', finishReason: 'tool_calls', usage: { totalTokens: 18 } },
              { number: 2, text: 'It is 42.', finishReason: 'stop', partial: false },
            ],
            toolCalls: [
              {
                callId: 'call_1',
                round: 1,
                ordinal: 1,
                name: 'calculate',
                status: 'COMPLETED',
                result: '42',
                error: null,
              },
            ],
          },
          messages: {
            totalCount: 2,
            nodes: [
              { position: 1, role: 'user', content: 'What is 6*7?', job: null },
              { position: 2, role: 'assistant', content: 'Let me see. It is 42.', clientId: 'm-1', job: { id: jobId } },
            ],
          },
        });
      }
    });

    it('finds a job and its parts by node id', async () => {
      const { jobId } = await user.run({ message: 'Hi' });
      const { job } = await user.query(
        'query($id: ID!) { job(id: $id) { nodeId thread { nodeId messages { nodes { nodeId } } } } }',
        { id: jobId },
      );
      const found = job as { nodeId: string; thread: { nodeId: string; messages: { nodes: { nodeId: string }[] } } };
      const ids = [
        found.nodeId,
        found.thread.nodeId,
        ...found.thread.messages.nodes.map(({ nodeId }) => nodeId),
        'nonsense',
      ];
      const { nodes } = await user.query(
        'query($ids: [ID!]!) { nodes(ids: $ids) { __typename nodeId ... on Job { id content } } }',
        { ids },
      );
      expect(nodes).toEqual([
        { __typename: 'Job', nodeId: ids[0], id: jobId, content: 'two parts' },
        { __typename: 'Thread', nodeId: ids[1] },
        { __typename: 'Message', nodeId: ids[2] },
        { __typename: 'Message', nodeId: ids[3] },
        null,
      ]);
    });
  });

  describe('startChat', () => {
    it('starts once per idempotency key and rejects another request with it', async () => {
      const input = { message: 'Once', idempotencyKey: 'key-1' };
      const starts = await Promise.all([user.start(input), user.start(input), user.start(input)]);
      expect(new Set(starts.map(({ jobId }) => jobId)).size).toBe(1);
      expect(starts.filter(({ replayed }) => replayed === false)).toHaveLength(1);
      expect(await user.start({ ...input, message: 'Twice' })).toMatchObject({
        jobId: null,
        job: null,
        userErrors: [{ code: 'idempotency_key_mismatch', field: 'idempotencyKey' }],
      });
      await user.finished(starts[0].jobId);
    });

    it('names the invalid field', async () => {
      const cases: readonly (readonly [object, string, string])[] = [
        [{}, 'bad_request', 'message'],
        [{ message: 'a', messages: [] }, 'bad_request', 'messages'],
        [{ message: 'a', tools: ['nope'] }, 'bad_request', 'tools'],
        [{ message: 'a', toolChoice: 'sometimes' }, 'bad_request', 'toolChoice'],
        [{ message: 'a', parameters: [] }, 'bad_request', 'parameters'],
        [{ message: 'a', idempotencyKey: 'ä' }, 'bad_request', 'idempotencyKey'],
        [{ messages: [{ role: 'unknown', content: 'x' }] }, 'bad_request', 'messages'],
        [{ message: 'a', labels: ['x'] }, 'bad_request', 'labels'],
        [{ message: 'a', labels: { team: 7 } }, 'bad_request', 'labels.team'],
        [{ message: 'a', labels: { team: 'x'.repeat(513) } }, 'bad_request', 'labels.team'],
        [{ message: 'a', labels: { ['x'.repeat(65)]: '' } }, 'bad_request', 'labels'],
        [
          { message: 'a', labels: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`l${i}`, ''])) },
          'bad_request',
          'labels',
        ],
      ];
      for (const [input, code, field] of cases)
        expect(await user.start(input)).toMatchObject({ jobId: null, userErrors: [{ code, field }] });
    });

    it('replaces text that cannot be stored, or rejects it', async () => {
      const { jobId } = await user.run({ message: 'a\0b\ud800c', idempotencyKey: 'odd' });
      const { job } = await user.query(
        'query($id: ID!) { job(id: $id) { thread { messages(first: 1) { nodes { content } } } } }',
        { id: jobId },
      );
      expect(job).toMatchObject({ thread: { messages: { nodes: [{ content: 'a\ufffdb\ufffdc' }] } } });
      for (const depth of [500, 5_000, 100_000]) {
        // As text: nothing here could write it.
        const deep = '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
        const text =
          'mutation($p: JSON) { startChat(input: { message: \\"x\\", parameters: $p }) { jobId userErrors { code } } }';
        const body = `{"query":"${text}","variables":{"p":${deep}}}`;
        const reply = await api.call('POST', '/graphql', { key: owner.key, body });
        expect(JSON.stringify(reply.body)).toMatch(/"code":"(?:not_storable|BAD_USER_INPUT)"/);
      }
      const polluted = JSON.parse(
        '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
      ) as object;
      await user.run({ message: 'x', parameters: polluted });
      expect(Reflect.get({}, 'polluted')).toBeUndefined();
    });

    it.each([
      [{ message: '' }, 'message'],
      [{}, 'message'],
      [{ messages: [] }, 'messages'],
    ])('names the missing field of a start: %j', async (input, field) => {
      const { startChat } = await user.query(
        'mutation($input: StartChatInput!) { startChat(input: $input) { userErrors { code field message } } }',
        { input },
      );
      expect(startChat).toEqual({ userErrors: [{ code: 'bad_request', field, message: `Missing ${field}` }] });
    });

    it('continues the thread that the client names', async () => {
      const first = await user.run({ message: 'One', threadId: 'my-thread' });
      const second = await user.run({ message: 'Two', threadId: 'my-thread' });
      expect([first.threadId, second.threadId]).toEqual(['my-thread', 'my-thread']);
      const { thread } = await user.query(
        '{ thread(id: "my-thread") { clientId title messages { nodes { content } } } }',
      );
      expect(thread).toMatchObject({ clientId: 'my-thread', title: 'One', messages: { nodes: [{}, {}, {}, {}] } });
    });
  });

  describe('cancelJob and retryJob', () => {
    it('cancel a job and retry it', async () => {
      model.enqueue({ body: [], end: 'hang' });
      const before = model.requests.length;
      const { jobId } = await user.start({ message: 'Never ends', labels: { team: 'billing' } });
      // A job runs before its model is asked; the reply is taken only then, and would else be the next one's.
      await model.request(before + 1);
      const cancel =
        'mutation($id: ID!) { cancelJob(input: { jobId: $id }) { state job { status reason } userErrors { code } } }';
      const stopped = await user.query(cancel, { id: jobId });
      expect(stopped['cancelJob']).toMatchObject({ state: 'ABORTED', job: { status: 'CANCELLED' }, userErrors: [] });
      expect((await user.query(cancel, { id: jobId }))['cancelJob']).toMatchObject({ state: 'ABORTED' });
      expect((await user.query(cancel, { id: newId() }))['cancelJob']).toEqual({
        state: null,
        job: null,
        userErrors: [{ code: 'not_found' }],
      });

      const retry =
        'mutation($input: RetryJobInput!) { retryJob(input: $input) { jobId job { retryOf labels } userErrors { code field } } }';
      const input = { jobId, idempotencyKey: 'again' };
      const { retryJob } = await user.query(retry, { input });
      const again = retryJob as Started;
      expect(again).toMatchObject({ job: { retryOf: jobId, labels: { team: 'billing' } }, userErrors: [] });
      expect((await user.query(retry, { input }))['retryJob']).toMatchObject({ jobId: again.jobId });
      await user.finished(again.jobId);
      const completed = await user.query(retry, { input: { jobId: again.jobId } });
      expect(completed['retryJob']).toMatchObject({ jobId: null, userErrors: [{ code: 'conflict', field: 'jobId' }] });
    });
  });
});

describe('GraphQL lists', () => {
  const others: TestApi[] = [];

  afterEach(async () => {
    for (const other of others.splice(0)) await other.close();
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

  it('filter by status, kind, thread, creator, time and labels', async () => {
    const { jobId, threadId } = await user.run({
      ...{ message: 'Only me', threadId: 'narrow' },
      labels: { team: 'billing', 'odd "name\'': '' },
    });
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
    const labels = { team: 'billing', 'odd "name\'': '' };
    expect(await count({ labels })).toEqual({ totalCount: 1, nodes: [{ id: jobId }] });
    const none: readonly object[] = [
      { labels: { team: 'sales' } },
      { labels: { team: 'billing', plan: 'free' } },
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
