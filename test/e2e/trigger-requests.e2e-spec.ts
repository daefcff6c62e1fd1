import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';

import { newId } from '#platform';
import { defineTool, ToolRegistry } from '#tools';

import { Hooks } from '../../libs/triggers/src/inbound/hooks.service.js';
import { signatureHeaders } from '../../libs/triggers/src/signature.js';
import type { SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { SyntrixConnectionsRepository } from '../../libs/triggers/src/syntrix/syntrix-connections.repository.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { connect, signingSecret, startSyntrix } from '../harness/syntrix-stage.js';
import { WebhookReceiver } from '../harness/webhook-receiver.js';

interface Shown {
  readonly fired: number;
  readonly failed: number;
  readonly lastError: string | null;
}
interface Sent {
  readonly triggerId: string;
  readonly event: string;
  readonly collection: string;
  readonly documentId: string;
  readonly after: Readonly<Record<string, unknown>>;
}

describe('triggers for rows of this server:', () => {
  const SAVE = `mutation($definition: JSON!) {
  saveTrigger(input: { definition: $definition }) { trigger { id } userErrors { message } } }`;
  const START = `mutation($message: String!) {
  startChat(input: { message: $message, tools: ["double"] }) { jobId userErrors { message } } }`;
  const SHOWN = 'query($id: ID!) { trigger(id: $id) { fired failed lastError } }';

  let database: TestDatabase;
  let model: ScriptedModel;
  let receiver: WebhookReceiver;
  let api: TestApi;
  let owner: TestMember;
  let client: GraphqlMember;

  beforeAll(async () => {
    [database, model, receiver] = await Promise.all([
      createTestDatabase(),
      ScriptedModel.start(),
      WebhookReceiver.listen(),
    ]);
    // The model calls the tool for a message that asks for it, and answers everything else.
    model.answer(({ json }) => {
      const last = (json['messages'] as readonly { role: string; content: unknown }[]).at(-1);
      const asks = last?.role === 'user' && last.content === 'Double 4';
      return asks ? toolCallReply([{ id: 'call_1', name: 'double', arguments: '{"n":4}' }]) : textReply(['Done']);
    });
    api = await startTestApi(database, { env: { ...receiver.env, MODEL_BASE_URL: model.url } });
    const input = z.object({ n: z.number() });
    const execute = ({ n }: { readonly n: number }) => Promise.resolve({ doubled: 2 * n });
    api.api.app.get(ToolRegistry).register(defineTool({ name: 'double', description: 'Doubles', input, execute }));
  });
  beforeEach(async () => {
    const people = await api.people.workspaceOf(`own-${newId()}`);
    owner = people.owner;
    client = graphqlMember(api, owner.key);
    receiver.received.length = 0;
  });
  afterAll(async () => {
    await api.close();
    await Promise.all([receiver.close(), model.close()]);
    await database.close();
  });

  const save = async (definition: object): Promise<string> => {
    const database = owner.principal.workspaceId;
    const { saveTrigger } = (await client.query(SAVE, { definition: { database, ...definition } })) as {
      saveTrigger: { trigger: { id: string }; userErrors: object[] };
    };
    expect(saveTrigger.userErrors).toEqual([]);
    return saveTrigger.trigger.id;
  };
  const start = async (message: string): Promise<string> => {
    const { startChat } = (await client.query(START, { message })) as { startChat: { jobId: string } };
    return startChat.jobId;
  };
  const sent = (): Sent[] => receiver.received.map(({ body }) => JSON.parse(String(body)) as Sent);
  const shown = async (id: string) => ((await client.query(SHOWN, { id })) as { trigger: Shown }).trigger;
  const prompts = () =>
    database.postgres.withWorkspaceSql(owner.principal.workspaceId, async (sql) => {
      const { rows } = await sql.query<{ prompt: string }>(
        `SELECT input->'messages'->0->>'content' AS prompt FROM job ORDER BY id`,
      );
      return rows.map(({ prompt }) => prompt);
    });

  const watched = [
    {
      kind: 'a message of a user',
      collection: 'threads/*/messages',
      condition: "role == 'user' && content == 'Double 4'",
      document: { role: 'user', content: 'Double 4' },
      events: ['create'],
    },
    {
      kind: 'the result of a tool call',
      collection: 'threads/*/tool-calls',
      condition: "status == 'success'",
      document: { toolName: 'double', args: { n: 4 }, status: 'success', result: '{"doubled":8}', error: null },
      events: ['update'],
    },
    {
      kind: 'the response of a chat',
      collection: 'threads/*/messages',
      condition: "role == 'assistant' && !content.startsWith('After')",
      document: { role: 'assistant', content: 'Done' },
      events: ['create'],
    },
  ];

  it.each(watched)('A trigger sends $kind to a URL', async ({ collection, condition, document, events }) => {
    await save({ triggerId: 'sends', collection, events, condition, url: receiver.url() });
    const jobId = await start('Double 4');
    const [delivered] = await eventually('it is delivered', () => (sent().length > 0 ? sent() : undefined));
    expect(delivered).toMatchObject({ triggerId: 'sends', event: events[0], after: { ...document, jobId } });
    expect(delivered?.collection).toMatch(/^threads\/[0-9a-f-]{36}\/(messages|tool-calls)$/);
  });

  it.each(watched)('A trigger starts a job for $kind', async ({ collection, condition, events }) => {
    const id = await save({
      triggerId: 'starts',
      collection,
      events,
      condition,
      start: { prompt: "'Look at ' + jobId" },
    });
    const jobId = await start('Double 4');
    await eventually('the job is started', async () =>
      (await prompts()).includes(`Look at ${jobId}`) ? true : undefined,
    );
    expect((await shown(id)).failed).toBe(0);
  });

  it('Triggers start a job and send a request for each job that starts', async () => {
    const created = { collection: 'jobs', events: ['create'], condition: "kind == 'chat'" };
    await save({ ...created, triggerId: 'sends', url: receiver.url() });
    const once = await save({
      ...created,
      triggerId: 'starts',
      filters: ['parentJobId == null'],
      start: { prompt: "'After ' + id" },
    });
    const jobId = await start('Hello');
    const chain = await eventually('the chain of jobs ends', async () => {
      const { failed } = await shown(once);
      return failed === 1 ? prompts() : undefined;
    });
    expect(chain).toHaveLength(1 + 8);
    expect(chain[1]).toBe(`After ${jobId}`);
    const bodies = await eventually('all are delivered', () => (sent().length === 9 ? sent() : undefined));
    expect(bodies.map(({ documentId }) => documentId)).toContain(jobId);
  });

  it.each([
    { of: 'messages', condition: "role == 'user'", events: ['create'] },
    { of: 'messages', condition: "role == 'assistant'", events: ['create'] },
  ])('A trigger for $of with $condition that starts a chat stops after 8 jobs', async ({ of, condition, events }) => {
    const id = await save({
      triggerId: 'circle',
      collection: `threads/*/${of}`,
      events,
      condition,
      start: { prompt: "'Hello'" },
    });
    await start('Hello');
    const found = await eventually('the chain ends', async () => {
      const trigger = await shown(id);
      return trigger.failed > 0 ? trigger : undefined;
    });
    expect(found).toEqual({ fired: 8, failed: 1, lastError: 'the chain of jobs that triggers started has 8 jobs' });
  });

  it('A delivery contains no settings of its trigger, and no document before the change if the trigger leaves it out', async () => {
    const set = `mutation { setWorkspaceSecret(input: { name: "SHOP_SECRET", value: "a secret of at least 24 characters" }) { userErrors { message } } }`;
    await client.query(set);
    const sent = { database: 'shop', collection: 'orders', events: ['update'], url: receiver.url(), version: '3' };
    const headers = { 'x-shop': 'value of a header' };
    const settings = { headers, secretsRef: 'SHOP_SECRET', retryPolicy: { maxAttempts: 2 } };
    for (const includeBefore of [true, false])
      await save({ ...sent, ...settings, triggerId: `before-${includeBefore}`, includeBefore });
    const change = { type: 'update', collection: 'orders', documentId: 'd', timestamp: 1, seq: 4, lsn: '0/4' };
    const body = { changes: [{ ...change, document: { total: 2 }, before: { total: 1 } }] };
    expect(await api.call('POST', '/api/triggers/shop/changes', { key: owner.key, body })).toMatchObject({
      status: 202,
    });
    const bodies = await eventually('both are delivered', () => {
      const found = receiver.received.map(({ body: text }) => JSON.parse(String(text)) as Sent);
      return found.length === 2 ? new Map(found.map((one) => [one.triggerId, one])) : undefined;
    });
    const shared = [
      ...['triggerId', 'version', 'database', 'tenant', 'event', 'collection', 'documentId', 'docKey', 'lsn', 'seq'],
      ...['after', 'payload', 'ts', 'deliveryId'],
    ];
    expect(Object.keys(bodies.get('before-false') ?? {}).sort()).toEqual(shared.toSorted());
    expect(Object.keys(bodies.get('before-true') ?? {}).sort()).toEqual([...shared, 'before'].sort());
    for (const received of receiver.received) expect(received.headers).toMatchObject(headers);
  });
});

describe('requests to triggers', () => {
  const SAVE = `mutation($definition: JSON!) { saveTrigger(input: { definition: $definition }) { trigger { id } userErrors { message } } }`;
  const SET = `mutation($name: String!, $value: String!) { setWorkspaceSecret(input: { name: $name, value: $value }) { userErrors { message } } }`;

  let database: TestDatabase;
  let server: SyntrixServer;
  let api: TestApi;
  let admin: TestMember;
  let member: GraphqlMember;
  let hook: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    api = await startTestApi(database, {
      env: { ALLOW_PRIVATE_TOOL_URLS: 'true', BODY_TIMEOUT_MS: '200', TRIGGERS_ALLOW_UNSIGNED: 'false' },
      takesJobs: false,
    });
    ({ admin } = await api.people.workspaceOf('acme'));
    member = graphqlMember(api, admin.key);
    server = await startSyntrix();
    await connect(api, server, { key: admin.key });
    const definition = { triggerId: 'hook', source: 'webhook', secretsRef: 'SYNTRIX_SECRET', start: {} };
    const { saveTrigger } = await member.query(SAVE, { definition });
    hook = `/hooks/${(saveTrigger as { trigger: { id: string } }).trigger.id}`; // as the query asks
  });
  afterAll(async () => {
    await server.close();
    await api.close();
    await database.close();
  });

  const bodyOf = (chat = newChat(), changes: object = {}) =>
    JSON.stringify({
      ...{ triggerId: 't', event: 'create', docKey: `${chat}/messages/m1`, ts: Date.now() },
      ...{ after: { id: 'm1', role: 'user', content: 'Hello', createdAt: 1 }, ...changes },
    });
  const newChat = () => `users/u/orch-chats/${randomUUID()}`;
  const signed = (
    body: string,
    style: 'standard' | 'syntrix',
    { id = randomUUID(), secret = signingSecret }: { readonly id?: string; readonly secret?: string } = {},
  ) => signatureHeaders(style, [secret], { id, timestamp: Math.floor(Date.now() / 1_000), body });
  const post = async (path: string, body: string, headers: Readonly<Record<string, string>>) => {
    const reply = await fetch(`${api.url}${path}`, { method: 'POST', body, headers });
    return [reply.status, reply.headers.get('content-type'), await reply.text()];
  };
  const plain = 'text/plain; charset=utf-8';
  const countOf = async (chat: string) => {
    const { rows } = await database.postgres.workerPool.query<{ count: number }>(
      "SELECT count(*)::int AS count FROM job WHERE input->'external'->>'chatPath' = $1",
      [chat],
    );
    return rows[0]?.count;
  };
  const paths = () => ['/webhook/llm', hook];

  describe('an endpoint for signed requests', () => {
    it.each(['text/plain', 'application/octet-stream', 'application/json; charset=utf-8'])(
      'verifies the bytes of a body of type %s',
      async (type) => {
        for (const path of paths()) {
          const body = bodyOf();
          expect(await post(path, body, { 'content-type': type, ...signed(body, 'syntrix') })).toEqual([
            200,
            plain,
            'OK',
          ]);
          const altered = { 'content-type': type, ...signed(`${body} `, 'syntrix') };
          expect(await post(path, body, altered)).toEqual([401, plain, 'Unauthorized']);
        }
      },
    );

    it('answers a compressed body, a body over 1 MiB and one that does not arrive with a plain-text error', async () => {
      for (const path of paths()) {
        const body = bodyOf();
        expect(await post(path, body, { 'content-encoding': 'gzip', ...signed(body, 'syntrix') })).toEqual([
          ...[415, plain, 'Unsupported Media Type'],
        ]);
        const large = 'x'.repeat(1_048_577);
        expect(await post(path, large, signed(large, 'syntrix'))).toEqual([413, plain, 'Payload Too Large']);
        const headers = { 'content-type': 'application/json', 'content-length': '1000' };
        const unfinished = request(`${api.url}${path}`, { method: 'POST', headers });
        unfinished.on('error', () => undefined).flushHeaders();
        const [reply] = (await once(unfinished, 'response')) as [IncomingMessage];
        expect([reply.statusCode, reply.headers['content-type'], await text(reply)]).toEqual([
          ...[408, plain, 'Request Timeout'],
        ]);
        unfinished.destroy();
      }
    });

    it('responds to a database error with 500', async () => {
      const broken = () => Promise.reject(new Error('the database is gone'));
      const mocks = [
        jest.spyOn(api.api.app.get(SyntrixConnectionsRepository), 'named').mockImplementation(broken),
        jest.spyOn(api.api.app.get(Hooks), 'isKnown').mockImplementation(broken),
      ];
      for (const path of paths())
        expect(await post(path, '{}', { 'content-type': 'application/json' })).toEqual([
          ...[500, plain, 'Internal Server Error'],
        ]);
      for (const mock of mocks) mock.mockRestore();
    });

    it('accepts Standard Webhooks headers, and treats another body with a used webhook-id as a repetition', async () => {
      const [chat, id] = [newChat(), `msg_${randomUUID()}`];
      const body = bodyOf(chat);
      expect(await post('/webhook/llm', body, signed(body, 'standard', { id }))).toEqual([200, plain, 'OK']);
      expect(await post('/webhook/llm', body, signed(body, 'standard', { id }))).toEqual([200, plain, 'OK']);
      const other = bodyOf(chat, { docKey: `${chat}/messages/m2`, after: { id: 'm2', role: 'user', content: 'Bye' } });
      expect(await post('/webhook/llm', other, signed(other, 'standard', { id }))).toEqual([200, plain, 'OK']);
      expect(await countOf(chat)).toBe(1);
      expect(await post('/webhook/llm', other, signed(other, 'standard', { secret: 'another' }))).toEqual([
        ...[401, plain, 'Unauthorized'],
      ]);
      expect(await post('/webhook/llm', other, signed(other, 'standard'))).toEqual([200, plain, 'OK']);
      expect(await countOf(chat)).toBe(2);
    });

    it('accepts Standard Webhooks headers with a whsec secret', async () => {
      const value = `whsec_${randomBytes(32).toString('base64')}`;
      await member.query(SET, { name: 'WHSEC', value });
      await connect(api, server, { key: admin.key, name: 'whsec', secret: 'WHSEC' });
      const body = bodyOf();
      expect(await post('/webhook/whsec/llm', body, signed(body, 'standard', { secret: value }))).toEqual([
        ...[200, plain, 'OK'],
      ]);
    });

    it('refuses an unsigned request to a connection without a secret unless the operator allows it', async () => {
      await connect(api, server, { key: admin.key, name: 'open', secret: null });
      const body = bodyOf();
      expect(await post('/webhook/open/llm', body, {})).toEqual([401, plain, 'Unauthorized']);
      const open = await startTestApi(database, {
        env: { ALLOW_PRIVATE_TOOL_URLS: 'true', TRIGGERS_ALLOW_UNSIGNED: 'true' },
        takesJobs: false,
      });
      const send = (path: string) => fetch(`${open.url}${path}`, { method: 'POST', body });
      expect((await send('/webhook/open/llm')).status).toBe(200);
      expect((await send('/webhook/llm')).status).toBe(401); // this one has a secret
      await open.close();
    });
  });

  describe('POST /api/triggers/{database}/changes', () => {
    const publish = (name: string, change: object = {}) => {
      const given = { type: 'create', collection: 'c', documentId: 'd', timestamp: 1, ...change };
      return api.call('POST', `/api/triggers/${name}/changes`, { key: admin.key, body: { changes: [given] } });
    };

    it('refuses a database name that no trigger can have', async () => {
      for (const name of ['a.b', 'a%20b', 'x'.repeat(129)])
        expect(await publish(name)).toMatchObject({ status: 400, body: { field: 'database' } });
      expect(await publish('x'.repeat(128))).toMatchObject({ status: 202 });
    });

    it('recognizes a repetition by an lsn that is a number, and by ids of any length', async () => {
      const long = { collection: `c/${'ü'.repeat(1_000)}`, documentId: randomBytes(512).toString('hex'), seq: 1 };
      for (const change of [{ lsn: 7 }, long]) {
        expect(await publish('shop', change)).toMatchObject({ status: 202, body: { accepted: 1, duplicates: 0 } });
        expect(await publish('shop', change)).toMatchObject({ status: 202, body: { accepted: 0, duplicates: 1 } });
      }
      expect(await publish('shop', { lsn: '7' })).toMatchObject({ body: { duplicates: 1 } });
    });

    it('needs the scope write, and no more', async () => {
      const { key } = await api.people.keyOf(admin.person, ['write']);
      const changes = [{ type: 'create', collection: 'c', documentId: 'd', timestamp: 1 }];
      const status = async (credential: string) =>
        (await api.call('POST', '/api/triggers/shop/changes', { key: credential, body: { changes } })).status;
      expect(await status(key)).toBe(202);
      expect(await status((await api.people.keyOf(admin.person, ['read'])).key)).not.toBe(202);
    });
  });
});
