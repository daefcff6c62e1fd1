import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';

import { signatureOf, type SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { connect, signingSecret, startSyntrix, workerTriggers } from '../harness/syntrix-stage.js';

let database: TestDatabase;
let model: ScriptedModel;
let server: SyntrixServer;
let test: TestApi;
let people: Record<Role, TestMember>;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  test = await startTestApi(database, {
    env: { MODEL_BASE_URL: model.url, ALLOW_PRIVATE_TOOL_URLS: 'true' },
  });
  people = await test.people.workspaceOf('acme');
  server = await startSyntrix();
  const query = documentExample('docs/syntrix.md', 'connect-syntrix')
    .replace('a long random text', signingSecret)
    .replace('https://syntrix.example', server.url);
  const connected = await test.call('POST', '/graphql', { key: people.admin.key, body: { query } });
  expect(connected.body).toMatchObject({
    data: { setWorkspaceSecret: { userErrors: [] }, saveSyntrixConnection: { userErrors: [] } },
  });
});

afterEach(() => {
  server.triggers = [];
  server.intercept = undefined;
  model.assertDone();
});

afterAll(async () => {
  await server.close();
  await test.close();
  await model.close();
  await database.close();
});

const newChat = () => `users/demo-user/orch-chats/${randomUUID()}`;
const say = (chat: string, id: string, createdAt = Date.now()) => {
  server.create(`${chat}/messages`, { id, role: 'user', content: `text of ${id}`, createdAt });
};
const messagesOf = (chat: string) => server.store.list(`${chat}/messages`);
const callsOf = (chat: string) => server.store.list(`${chat}/toolcall`);
const answersOf = (chat: string) => messagesOf(chat).filter(({ role }) => role === 'assistant');
const answered = (chat: string, count = 1) =>
  eventually(`${count} answers`, () => (answersOf(chat).length === count ? answersOf(chat) : undefined));
const time = (id: string) => ({ id, name: 'get_current_time', arguments: '{}' });

interface JobRow {
  readonly status: string;
  readonly reason: string | null;
  readonly code: string | null;
  readonly isCall: boolean;
}

/** The jobs of a chat, oldest first, once all have ended. */
const jobsOf = (chat: string) =>
  eventually(`the jobs of ${chat} have ended`, async () => {
    const { rows } = await database.postgres.workerPool.query<JobRow>(
      `SELECT status, reason, error->>'code' AS code, input ? 'call' AS "isCall" FROM job
        WHERE input->'external'->>'chatPath' = $1 ORDER BY id`,
      [chat],
    );
    return rows.every(({ status }) => ['completed', 'failed', 'cancelled'].includes(status)) ? rows : undefined;
  });

/** Connections of this name in further workspaces. */
const inOtherWorkspaces = async (count: number, name: string) => {
  for (let n = 0; n < count; n++) {
    const id = randomUUID();
    await database.postgres.withWorkspaceSql(id, async (client) => {
      await client.query('INSERT INTO workspace (id, name) VALUES ($1, $2)', [id, name]);
      await client.query(
        `INSERT INTO syntrix_connection (workspace_id, id, name, settings, created_by) VALUES ($1, gen_random_uuid(), $2, '{}', 'user:x')`,
        [id, name],
      );
    });
  }
};

const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  test.call('POST', path, { body, headers: { 'content-type': 'application/json', ...headers } });
const signed = (body: string, seconds?: number) => ({
  'x-syntrix-signature': signatureOf(signingSecret, body, seconds),
});
const deliveryOf = (chat: string, id = 'm1', changes: object = {}) =>
  JSON.stringify({
    ...{
      triggerId: 'on-user-message',
      event: 'create',
      collection: `${chat}/messages`,
      docKey: `${chat}/messages/${id}`,
    },
    ...{ after: { id, role: 'user', content: 'Hello', createdAt: 1 }, ts: Date.now(), ...changes },
  });

describe('chats of a Syntrix database', () => {
  it('get answers, with tools that run by deliveries of their own', async () => {
    server.triggers = workerTriggers(test.url);
    const chat = newChat();
    model.enqueue(toolCallReply([time('call_1'), time('call_2')]), textReply(['It is late.']));
    say(chat, 'm1');
    const [answer] = await answered(chat);
    expect(answer).toMatchObject({ id: expect.stringMatching(/^msg_/), content: 'It is late.' });
    expect(callsOf(chat)).toMatchObject([
      { id: 'call_1', toolName: 'get_current_time', status: 'success', turnSize: 2, index: 0 },
      { id: 'call_2', toolName: 'get_current_time', status: 'success', turnSize: 2, index: 1 },
    ]);
    const asked = model.requests.at(-1)?.json['messages'] as { role: string; content: string }[];
    expect(asked.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    expect(asked[2]?.content).toBe(callsOf(chat)[0]?.['result']);
    await server.settled();
    const jobs = await jobsOf(chat);
    expect(jobs.filter(({ isCall }) => isCall)).toHaveLength(2);
    expect(jobs.every(({ status }) => status === 'completed')).toBe(true);
  });

  it('end an unknown tool and invalid arguments as failed documents, and start the next round', async () => {
    server.triggers = workerTriggers(test.url);
    const chat = newChat();
    const calls = [
      { ...time('call_x'), name: 'no_such_tool' },
      { ...time('call_y'), arguments: '{"a":' },
    ];
    model.enqueue(toolCallReply(calls), toolCallReply([{ ...time('call_z'), arguments: 'x' }]), textReply(['Sorry.']));
    say(chat, 'm1');
    await answered(chat);
    expect(callsOf(chat)).toMatchObject([
      { id: 'call_x', status: 'failed', error: 'Unknown tool no_such_tool' },
      { id: 'call_y', status: 'failed', error: 'Invalid arguments', args: {} },
      { id: 'call_z', status: 'failed', error: 'Invalid arguments' },
    ]);
    await server.settled();
    await jobsOf(chat);
  });

  it('get a final answer without tools once there are more calls than allowed', async () => {
    const chat = newChat();
    for (let n = 1; n <= 6; n++)
      server.store.put(`${chat}/toolcall/c${n}`, {
        ...{ id: `c${n}`, toolName: 'get_current_time', args: {}, status: 'success', result: '1', createdAt: n },
      });
    server.triggers = workerTriggers(test.url);
    model.enqueue(textReply(['Enough.']));
    say(chat, 'm1');
    await answered(chat);
    const { tools, messages } = model.requests.at(-1)?.json ?? {};
    expect(tools).toBeUndefined();
    expect((messages as object[]).at(-1)).toEqual({ role: 'system', content: 'Tool limit reached' });
    await jobsOf(chat);
  });

  it('appear in GraphQL and in the REST status with the user of their chat', async () => {
    server.triggers = workerTriggers(test.url);
    const chat = newChat();
    model.enqueue(toolCallReply([time('call_1')]), textReply(['Late.']));
    say(chat, 'm1');
    await answered(chat);
    await server.settled();
    await jobsOf(chat);
    const { rows } = await database.postgres.workerPool.query<{ id: string; threadId: string | null }>(
      `SELECT id, thread_id AS "threadId" FROM job WHERE input->'external'->>'chatPath' = $1 ORDER BY id`,
      [chat],
    );
    expect(rows.length).toBeGreaterThan(2);
    const show = 'query($id: ID!) { job(id: $id) { externalUserId thread { externalUserId } } }';
    for (const { id, threadId } of rows) {
      const { data } = await ask(test, show, { key: people.admin.key, variables: { id } });
      const thread = threadId === null ? null : { externalUserId: 'demo-user' };
      expect(data).toEqual({ job: { externalUserId: 'demo-user', thread } });
      const status = await test.call('GET', `/api/jobs/${id}/status`, { key: people.admin.key });
      expect(status.body).toMatchObject({ externalUserId: 'demo-user' });
    }
  });

  it('skip a message that is not the last one', async () => {
    const chat = newChat();
    say(chat, 'm1', 1_000_000_000_000);
    server.triggers = workerTriggers(test.url);
    model.enqueue(textReply(['Both.']));
    say(chat, 'm2', 1_000_000_000_001);
    await answered(chat);
    const body = deliveryOf(chat, 'm1');
    expect(await post('/webhook/llm', body, signed(body))).toMatchObject({ status: 200, body: 'OK' });
    const jobs = await jobsOf(chat);
    expect(jobs.map(({ reason }) => reason)).toEqual(['stop', 'skipped: the message is not the last one']);
  });

  it('get one answer although a trigger for failed calls delivers them too', async () => {
    server.triggers = [
      ...workerTriggers(test.url),
      {
        ...{ triggerId: 'on-tool-failed', collection: 'users/*/orch-chats/*/toolcall', events: ['create', 'update'] },
        ...{ condition: ({ status }) => status === 'failed', url: `${test.url}/webhook/llm` },
      },
    ];
    const chat = newChat();
    model.enqueue(
      toolCallReply([
        { ...time('call_1'), name: 'no_such_tool' },
        { ...time('call_2'), arguments: 'x' },
      ]),
      textReply(['Sorry.']),
    );
    say(chat, 'm1');
    await answered(chat);
    await server.settled();
    const jobs = await jobsOf(chat);
    expect(server.deliveries.filter(({ triggerId }) => triggerId === 'on-tool-failed')).toHaveLength(2);
    expect(answersOf(chat)).toMatchObject([{ content: 'Sorry.' }]);
    expect(jobs.every(({ status }) => status === 'completed')).toBe(true);
  });

  it('write nothing when the answer is empty', async () => {
    server.triggers = workerTriggers(test.url);
    const chat = newChat();
    model.enqueue(textReply([' ']));
    say(chat, 'm1');
    await server.settled();
    expect(await jobsOf(chat)).toMatchObject([{ status: 'failed', code: 'empty_answer' }]);
    expect(answersOf(chat)).toEqual([]);
  });
});

it('saveSyntrixConnection rejects a name used by 50 workspaces', async () => {
  const other = await test.people.workspaceOf('late');
  await inOtherWorkspaces(50, 'crowded');
  const save = (name: string) => connect(test, server, { key: other.admin.key, name });
  await expect(save('crowded')).rejects.toThrow('Too many workspaces use the connection name');
  await save('roomy');
  await save('roomy');
});

describe('a delivery of a Syntrix database', () => {
  it('that is repeated ten times in parallel starts one job and gets one answer', async () => {
    const chat = newChat();
    say(chat, 'm1');
    model.enqueue(textReply(['Once.']));
    const body = deliveryOf(chat);
    const replies = await Promise.all(Array.from({ length: 10 }, () => post('/webhook/llm', body, signed(body))));
    expect(replies.map((reply) => [reply.status, reply.body])).toEqual(Array(10).fill([200, 'OK']));
    await answered(chat);
    expect(await post('/webhook/llm', body, signed(body))).toMatchObject({ status: 200, body: 'OK' });
    expect(await jobsOf(chat)).toHaveLength(1);
  });

  it('whose sender gives up and retries while the model works starts one job and gets one answer', async () => {
    const patient = await startSyntrix({ timeoutMs: 1, maxAttempts: 4, backoffMs: 1 });
    patient.triggers = workerTriggers(test.url);
    const chat = newChat();
    say(chat, 'm1');
    const gate = createGate();
    model.enqueue({ body: [gate, ...textReply(['Slow.']).body] });
    patient.create(`${chat}/messages`, { id: 'm1', role: 'user', content: 'Hello', createdAt: 1 });
    await patient.settled();
    const [{ body } = { body: '' }] = patient.deliveries;
    expect(await post('/webhook/llm', body, signed(body))).toMatchObject({ status: 200, body: 'OK' });
    await eventually('the model was asked', () => (model.requests.length > 0 ? true : undefined));
    expect(await post('/webhook/llm', body, signed(body))).toMatchObject({ status: 200, body: 'OK' });
    gate.open();
    await answered(chat);
    expect(await jobsOf(chat)).toHaveLength(1);
    await patient.close();
  });

  it('with another webhook-id that its signature does not cover is a repetition', async () => {
    const chat = newChat();
    say(chat, 'm1');
    model.enqueue(textReply(['Once.']));
    const body = deliveryOf(chat);
    for (const id of ['a', 'b'])
      expect(await post('/webhook/llm', body, { ...signed(body), 'webhook-id': id })).toMatchObject({ body: 'OK' });
    await answered(chat);
    expect(await jobsOf(chat)).toHaveLength(1);
  });

  it('whose secret cannot be read is refused with 500, to be sent again', async () => {
    await connect(test, server, { key: people.admin.key, name: 'unreadable', secret: 'UNREADABLE' });
    const body = deliveryOf(newChat());
    expect((await post('/webhook/unreadable/llm', body, signed(body))).status).toBe(401);
    const { workspaceId } = people.admin.principal;
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(`INSERT INTO workspace_secret (workspace_id, id, name, cipher, created_by)
        SELECT workspace_id, gen_random_uuid(), 'UNREADABLE', '\\x00', created_by FROM workspace_secret LIMIT 1`),
    );
    expect((await post('/webhook/unreadable/llm', body, signed(body))).status).toBe(500);
  });

  const now = () => Math.floor(Date.now() / 1_000);
  it.each([
    ['a wrong secret', (body: string) => ({ 'x-syntrix-signature': signatureOf('another secret', body) })],
    ['a stale timestamp', (body: string) => signed(body, now() - 310)],
    ['a clock that is ahead', (body: string) => signed(body, now() + 310)],
    ['an altered body', (body: string) => signed(body.replace('Hello', 'Bye'))],
    [
      'a timestamp that was altered',
      (body: string) => ({
        'x-syntrix-signature': signed(body)['x-syntrix-signature'].replace(/t=\d+/, `t=${now() - 1}`),
      }),
    ],
    [
      'a cut signature',
      (body: string) => ({ 'x-syntrix-signature': signed(body)['x-syntrix-signature'].slice(0, -2) }),
    ],
    ['no signature', () => ({})],
  ])('with %s is refused and starts nothing', async (_, headers) => {
    const chat = newChat();
    const body = deliveryOf(chat);
    const reply = await post('/webhook/llm', body, headers(body));
    expect([reply.status, reply.body]).toEqual([401, 'Unauthorized']);
    expect(await jobsOf(chat)).toEqual([]);
  });

  it('to an unknown connection gets the same 401 as a wrong signature', async () => {
    const body = deliveryOf(newChat());
    const reply = await post('/webhook/nowhere/llm', body, signed(body));
    expect([reply.status, reply.body]).toEqual([401, 'Unauthorized']);
  });

  it.each(['/webhook/nowhere/llm', '/hooks/no-id', '/hooks/00000000-0000-4000-8000-000000000000'])(
    'to the unknown %s is refused before its body arrives',
    async (path) => {
      const headers = { 'content-type': 'application/json', 'content-length': '1000' };
      const unfinished = request(`${test.url}${path}`, { method: 'POST', headers });
      unfinished.on('error', () => undefined).flushHeaders();
      const [reply] = (await once(unfinished, 'response')) as [IncomingMessage];
      unfinished.destroy();
      expect(reply.statusCode).toBe(401);
    },
  );

  it.each([
    ['not JSON', '{"a":', 400, 'Invalid payload'],
    ['a list', '[]', 400, 'Invalid payload'],
    ['another collection', deliveryOf('a/b/c/d', 'm1', { docKey: 'a/b/c/d/notes/n' }), 400, 'Invalid path'],
    ['an assistant message', deliveryOf('a/b/c/d', 'm1', { after: { role: 'assistant' } }), 200, 'Ignored'],
    ['a delete', deliveryOf('a/b/c/d', 'm1', { event: 'delete' }), 200, 'Ignored'],
  ])('with %s is answered with its status', async (...[, body, status, text]) => {
    const reply = await post('/webhook/default/llm', body, signed(body));
    expect([reply.status, reply.body]).toEqual([status, text]);
  });

  it('over 1 MiB is refused', async () => {
    const body = deliveryOf(newChat(), 'm1', { after: { role: 'user', content: 'x'.repeat(1_048_576) } });
    expect((await post('/webhook/llm', body, signed(body))).status).toBe(413);
  });

  it('without a document is completed by a read of its path', async () => {
    const chat = newChat();
    say(chat, 'm1');
    model.enqueue(textReply(['Read.']));
    const body = deliveryOf(chat, 'm1', { after: undefined });
    expect(await post('/webhook/llm', body, signed(body))).toMatchObject({ status: 200, body: 'OK' });
    await answered(chat);
    await jobsOf(chat);
  });

  it('over the rate limit of its connection may be sent again later', async () => {
    await connect(test, server, { key: people.admin.key, name: 'slow', rateLimit: 1 });
    const chats = [newChat(), newChat(), newChat()];
    for (const chat of chats) say(chat, 'm1');
    model.enqueue(...chats.map(() => textReply(['Hi.'])));
    const send = (chat: string) => {
      const body = deliveryOf(chat);
      return post('/webhook/slow/llm', body, signed(body));
    };
    const replies = [await send(chats[0] ?? ''), await send(chats[1] ?? '')];
    const refused = replies.find(({ status }) => status === 429);
    if (refused !== undefined) expect(refused.headers.get('retry-after')).toBe('1');
    for (const chat of chats)
      await eventually('the limit has passed', async () => ((await send(chat)).status === 200 ? true : undefined));
    for (const chat of chats) await answered(chat);
    for (const chat of chats) expect(await jobsOf(chat)).toHaveLength(1);
  });
});
