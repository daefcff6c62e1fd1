import { randomUUID } from 'node:crypto';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';

import { signatureOf, type SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, errorReply, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { connect, signingSecret, startSyntrix, workerTriggers } from '../harness/syntrix-stage.js';

describe('a chat of a Syntrix database', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let server: SyntrixServer;
  let test: TestApi;
  let people: Record<Role, TestMember>;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    const env = { MODEL_BASE_URL: model.url, ALLOW_PRIVATE_TOOL_URLS: 'true', MAX_TOOL_CALLS_PER_ROUND: '2' };
    test = await startTestApi(database, { env });
    people = await test.people.workspaceOf('acme');
    server = await startSyntrix({ maxAttempts: 1 });
    await connect(test, server, { key: people.admin.key, tools: ['get_current_time'] });
  });
  afterEach(async () => {
    await server.settled();
    server.triggers = [];
    server.intercept = undefined;
    server.deliveries.length = 0;
    model.assertDone();
  });
  afterAll(async () => {
    await server.close();
    await test.close();
    await model.close();
    await database.close();
  });

  const newChat = () => `users/u/orch-chats/${randomUUID()}`;
  const say = (chat: string, id: string, createdAt = 1) =>
    server.create(`${chat}/messages`, { id, role: 'user', content: `text of ${id}`, createdAt });
  const callsOf = (chat: string) => server.store.list(`${chat}/toolcall`);
  const answersOf = (chat: string) => server.store.list(`${chat}/messages`).filter(({ role }) => role === 'assistant');
  const answered = (chat: string, count = 1) =>
    eventually(`${count} answers`, () => (answersOf(chat).length === count ? answersOf(chat) : undefined));
  const time = (id: string) => ({ id, name: 'get_current_time', arguments: '{}' });
  const jobsOf = (chat: string) =>
    eventually(`the jobs of ${chat} have ended`, async () => {
      const { rows } = await database.postgres.workerPool.query<{
        status: string;
        reason: string | null;
        threadId: string;
      }>(
        `SELECT status, reason, thread_id AS "threadId" FROM job WHERE input->'external'->>'chatPath' = $1 ORDER BY id`,
        [chat],
      );
      return rows.every(({ status }) => ['completed', 'failed', 'cancelled'].includes(status)) ? rows : undefined;
    });
  const deliver = (path: string, after: object, changes: object = {}) => {
    const body = JSON.stringify({ triggerId: 't', event: 'create', docKey: path, after, ts: Date.now(), ...changes });
    const headers = { 'content-type': 'application/json', 'x-syntrix-signature': signatureOf(signingSecret, body) };
    return test.call('POST', '/webhook/llm', { body, headers });
  };

  it('with 30 messages at once loses no delivery, and the model answers the last one', async () => {
    const chat = newChat();
    server.triggers = workerTriggers(test.url);
    const gate = createGate();
    model.enqueue({ body: [gate, ...textReply(['First.']).body] }, textReply(['Last.']));
    say(chat, 'm1');
    await eventually('the model is asked', () => (model.requests.length > 0 ? true : undefined));
    for (let n = 2; n <= 30; n++) say(chat, `m${n}`, n);
    await server.settled();
    expect(server.deliveries.map(({ attempts }) => attempts)).toEqual(Array(30).fill([200]));
    gate.open();
    await answered(chat, 2);
    const asked = model.requests.at(-1)?.json['messages'] as { role: string; content: string }[];
    const texts = asked.filter(({ role }) => role === 'user').map(({ content }) => content);
    expect(texts).toEqual(Array.from({ length: 30 }, (_, n) => `text of m${n + 1}`));
    const skipped = (await jobsOf(chat)).filter(({ reason }) => reason === 'skipped: the message is not the last one');
    expect(skipped).toHaveLength(28);
  });

  it('starts its queued jobs in the order of seq, although their deliveries arrive in another order', async () => {
    const chat = newChat();
    const gate = createGate();
    const asked = model.requests.length;
    model.enqueue({ body: [gate, ...textReply(['First.']).body] }, textReply(['Last.']));
    const arrive = (n: number) => {
      const message = { id: `m${n}`, role: 'user', content: `text of m${n}`, createdAt: n };
      server.store.put(`${chat}/messages/m${n}`, message);
      return deliver(`${chat}/messages/m${n}`, message, { seq: n });
    };
    await arrive(1);
    await eventually('the model is asked', () => (model.requests.length > asked ? true : undefined));
    for (const n of [10, 9, 2]) expect(await arrive(n)).toMatchObject({ body: 'OK' });
    gate.open();
    await answered(chat, 2);
    await jobsOf(chat);
    const { rows } = await database.postgres.workerPool.query<{ path: string }>(
      `SELECT input->'external'->>'documentPath' AS path FROM job WHERE input->'external'->>'chatPath' = $1
        ORDER BY started_at, finished_at`,
      [chat],
    );
    expect(rows.map(({ path }) => path.slice(chat.length))).toEqual([1, 2, 9, 10].map((n) => `/messages/m${n}`));
  });

  it('gets a failed document for each call beyond the limit of a response, and the model reads why', async () => {
    const chat = newChat();
    server.triggers = workerTriggers(test.url);
    model.enqueue(toolCallReply([1, 2, 3, 4].map((n) => time(`call_${n}`))), textReply(['Done.']));
    say(chat, 'm1');
    expect(await answered(chat)).toMatchObject([{ content: 'Done.' }]);
    const tooMany = { status: 'failed', error: expect.stringContaining('a response may have 2 tool calls') };
    expect(callsOf(chat)).toMatchObject([
      { id: 'call_1', turnSize: 4, status: 'success' },
      { id: 'call_2', turnSize: 4, status: 'success' },
      { id: 'call_3', turnSize: 4, ...tooMany },
      { id: 'call_4', turnSize: 4, ...tooMany },
    ]);
    expect(JSON.stringify(model.requests.at(-1)?.json['messages'])).toContain('Error: Not run');
    await jobsOf(chat);
  });

  it('gets the text of a response whose tool calls were not offered, and no document for the calls', async () => {
    const chat = newChat();
    for (let n = 1; n <= 6; n++)
      server.store.put(`${chat}/toolcall/c${n}`, {
        ...{ id: `c${n}`, toolName: 'get_current_time', args: {}, status: 'success', result: '1', createdAt: n },
      });
    server.triggers = workerTriggers(test.url);
    model.enqueue(toolCallReply([time('call_7')], { text: 'I would look again.' }));
    say(chat, 'm1', Date.now());
    expect(await answered(chat)).toMatchObject([{ content: 'I would look again.' }]);
    await jobsOf(chat);
    expect(callsOf(chat)).toHaveLength(6);
  });

  it('counts only the tool calls since the last message of the user with maxToolCallsScope TURN', async () => {
    const limits = { maxToolCalls: 1, maxToolCallsScope: 'TURN' };
    await connect(test, server, { key: people.admin.key, name: 'turns', tools: ['get_current_time'], ...limits });
    const chat = newChat();
    const settled = { toolName: 'get_current_time', args: {}, status: 'success', result: '1' };
    for (const n of [1, 2]) server.store.put(`${chat}/toolcall/c${n}`, { id: `c${n}`, createdAt: n, ...settled });
    server.triggers = workerTriggers(test.url, '/turns');
    model.enqueue(toolCallReply([time('call_1'), time('call_2')]), textReply(['Enough.']));
    say(chat, 'm1', Date.now());
    expect(await answered(chat)).toMatchObject([{ content: 'Enough.' }]);
    await jobsOf(chat);
    const offered = model.requests.slice(-2).map(({ json }) => (json['tools'] as object[] | undefined)?.length ?? 0);
    expect(offered).toEqual([1, 0]);
  });

  it('writes nothing when the request to the model fails', async () => {
    server.triggers = workerTriggers(test.url);
    const chat = newChat();
    model.enqueue(errorReply(400));
    say(chat, 'm1', Date.now());
    await server.settled();
    expect(await jobsOf(chat)).toMatchObject([{ status: 'failed' }]);
    expect([answersOf(chat), callsOf(chat)]).toEqual([[], []]);
  });

  it('keeps its thread, and starts one job for a document, when another admin saves its connection', async () => {
    const chat = newChat();
    model.enqueue(textReply(['One.']), textReply(['Two.']));
    say(chat, 'm1');
    const first = { id: 'm1', role: 'user', content: 'text of m1', createdAt: 1 };
    expect(await deliver(`${chat}/messages/m1`, first)).toMatchObject({ body: 'OK' });
    await answered(chat);
    await connect(test, server, { key: people.owner.key, tools: ['get_current_time'] });
    expect(await deliver(`${chat}/messages/m1`, first, { deliveryId: 'again' })).toMatchObject({ body: 'OK' });
    expect(await jobsOf(chat)).toHaveLength(1);
    say(chat, 'm2', 1_000);
    const second = { id: 'm2', role: 'user', content: 'text of m2', createdAt: 1_000 };
    expect(await deliver(`${chat}/messages/m2`, second)).toMatchObject({ body: 'OK' });
    await answered(chat, 2);
    const jobs = await jobsOf(chat);
    expect(jobs).toHaveLength(2);
    expect(new Set(jobs.map(({ threadId }) => threadId)).size).toBe(1);
  });

  it('gets the rest of the tool documents of a turn when its job fails between two of them', async () => {
    const chat = newChat();
    server.triggers = workerTriggers(test.url);
    model.enqueue(toolCallReply([time('call_1'), time('call_2')]), textReply(['Done.']));
    let refused = 0;
    server.intercept = ({ method, path }) =>
      method === 'POST' && path.endsWith('/toolcall') && callsOf(chat).length === 1 && refused++ === 0
        ? { status: 403 }
        : undefined;
    say(chat, 'm1');
    expect(await answered(chat)).toMatchObject([{ content: 'Done.' }]);
    expect(refused).toBeGreaterThan(0);
    expect(callsOf(chat)).toMatchObject([{ status: 'success' }, { status: 'success' }]);
    expect((await jobsOf(chat))[0]).toMatchObject({ status: 'failed' });
  });

  it('gets the answer from the next job when the one that had the turn fails', async () => {
    const chat = newChat();
    server.store.put(`${chat}/messages/m1`, { id: 'm1', role: 'user', content: 'Hi', createdAt: 1 });
    const calls = ['call_1', 'call_2'].map((id, index) => ({
      ...{ id, toolName: 'get_current_time', args: {}, status: 'success', result: '1', createdAt: 2 + index },
      ...{ turnId: 'turn', turnSize: 2, index },
    }));
    for (const call of calls) server.store.put(`${chat}/toolcall/${call.id}`, call);
    model.enqueue(errorReply(400), textReply(['Done.']));
    for (const call of calls) expect(await deliver(`${chat}/toolcall/${call.id}`, call)).toMatchObject({ body: 'OK' });
    expect(await answered(chat)).toMatchObject([{ content: 'Done.' }]);
    expect((await jobsOf(chat)).map(({ status }) => status)).toEqual(['failed', 'completed']);
  });
});

describe('a Syntrix connection', () => {
  const SECRET =
    'mutation($input: SetWorkspaceSecretInput!) { setWorkspaceSecret(input: $input) { userErrors { message } } }';

  let database: TestDatabase;
  let model: ScriptedModel;
  let server: SyntrixServer;
  let api: TestApi;
  let admin: TestMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url, ALLOW_PRIVATE_TOOL_URLS: 'true' } });
    ({ admin } = await api.people.workspaceOf('acme'));
    server = await startSyntrix({ tokens: ['own-token', 'pre-issued-token'] });
    await graphqlMember(api, admin.key).query(SECRET, { input: { name: 'SYNTRIX_TOKEN', value: 'own-token' } });
  });
  beforeEach(() => {
    server.requests.length = 0;
  });
  afterAll(async () => {
    model.assertDone();
    await server.close();
    await api.close();
    await model.close();
    await database.close();
  });

  const deliver = async (chat: string, changes: object = {}) => {
    server.store.put(`${chat}/messages/m1`, { id: 'm1', role: 'user', content: 'Hello', createdAt: 1 });
    const after = { id: 'm1', role: 'user', content: 'Hello', createdAt: 1 };
    const body = JSON.stringify({ event: 'create', docKey: `${chat}/messages/m1`, after, ts: 1, ...changes });
    const headers = { 'content-type': 'application/json', 'x-syntrix-signature': signatureOf(signingSecret, body) };
    return (await api.call('POST', '/webhook/llm', { body, headers })).status;
  };
  const answered = (chat: string) =>
    eventually('the chat is answered', () =>
      server.store.list(`${chat}/messages`).find(({ role }) => role === 'assistant'),
    );
  const inputOf = async (chat: string) => {
    const { rows } = await database.postgres.workerPool.query<{ input: object }>(
      "SELECT input FROM job WHERE input->'external'->>'chatPath' = $1",
      [chat],
    );
    return rows.map(({ input }) => JSON.stringify(input));
  };

  it('with auth PREISSUED answers with the token of the delivery, which is stored sealed', async () => {
    await connect(api, server, { key: admin.key, auth: 'PREISSUED', apiStyle: 'DATABASES' });
    const chat = `users/u/orch-chats/${randomUUID()}`;
    model.enqueue(textReply(['Hi.']));
    expect(await deliver(chat, { preIssuedToken: 'pre-issued-token' })).toBe(200);
    expect(await answered(chat)).toMatchObject({ content: 'Hi.' });
    expect(server.requests.filter((request) => !request.startsWith('POST /trigger/v1/databases/default/'))).toEqual([]);
    const [input, ...others] = await inputOf(chat);
    expect(others).toEqual([]);
    expect(input).not.toContain('pre-issued-token');
  });

  it('with auth PREISSUED refuses a delivery without a token and starts nothing', async () => {
    await connect(api, server, { key: admin.key, auth: 'PREISSUED', apiStyle: 'DATABASES' });
    const chat = `users/u/orch-chats/${randomUUID()}`;
    expect(await deliver(chat)).toBe(401);
    expect(await deliver(chat, { preIssuedToken: '' })).toBe(401);
    expect([await inputOf(chat), server.requests]).toEqual([[], []]);
  });

  it('with auth TOKEN answers with its own token, also if the delivery has one', async () => {
    await connect(api, server, { key: admin.key, auth: 'TOKEN', token: 'SYNTRIX_TOKEN', apiStyle: 'DATABASES' });
    const chat = `users/u/orch-chats/${randomUUID()}`;
    model.enqueue(textReply(['Hi.']));
    expect(await deliver(chat, { preIssuedToken: 'refused by the database' })).toBe(200);
    expect(await answered(chat)).toMatchObject({ content: 'Hi.' });
    expect(server.requests.filter((request) => !request.includes(' /api/v1/databases/default/'))).toEqual([]);
  });
});

describe('TRIGGERS_SIGNATURE_TOLERANCE_SECONDS', () => {
  const SAVE = 'mutation($definition: JSON!) { saveTrigger(input: { definition: $definition }) { trigger { id } } }';

  let database: TestDatabase;
  let server: SyntrixServer;
  let api: TestApi;
  let admin: TestMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    server = await startSyntrix();
    api = await startTestApi(database, {
      env: { TRIGGERS_SIGNATURE_TOLERANCE_SECONDS: '7200', ALLOW_PRIVATE_TOOL_URLS: 'true' },
    });
    ({ admin } = await api.people.workspaceOf('tolerant'));
    await connect(api, server, { key: admin.key });
  });
  afterAll(async () => {
    await server.close();
    await api.close();
    await database.close();
  });

  const definition = {
    triggerId: 'hook',
    source: 'webhook',
    secretsRef: 'SYNTRIX_SECRET',
    condition: 'false',
    start: {},
  };
  const savedTrigger = async () => {
    const { saveTrigger } = await graphqlMember(api, admin.key).query(SAVE, { definition });
    return (saveTrigger as { trigger: { id: string } }).trigger.id; // as the query asks
  };

  it.each([
    ['an hour', 3_600, 200],
    ['four hours', 14_400, 401],
  ])('decides about a signature that differs by %s from the clock', async (...[, seconds, status]) => {
    const docKey = `users/u/orch-chats/${randomUUID()}/messages/m`;
    const body = JSON.stringify({ event: 'create', docKey, after: { role: 'assistant' } });
    const now = Math.floor(Date.now() / 1_000);
    for (const path of ['/webhook/llm', `/hooks/${await savedTrigger()}`])
      for (const time of [now - seconds, now + seconds]) {
        const headers = {
          'content-type': 'application/json',
          'x-syntrix-signature': signatureOf(signingSecret, body, time),
        };
        expect((await api.call('POST', path, { body, headers })).status).toBe(status);
      }
  });
});
