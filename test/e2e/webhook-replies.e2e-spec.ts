import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { Hooks } from '../../libs/triggers/src/inbound/hooks.service.js';
import { signatureHeaders } from '../../libs/triggers/src/signature.js';
import type { SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { SyntrixConnectionsRepository } from '../../libs/triggers/src/syntrix/syntrix-connections.repository.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { connect, signingSecret, startSyntrix } from '../harness/syntrix-stage.js';

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
  const { rows } = await database.postgres.engine.query<{ count: number }>(
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

  it('answers a compressed body, a body over 1 MiB and one that does not arrive with a text', async () => {
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

  it('answers an error of the database with 500', async () => {
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

  it('accepts Standard Webhooks headers, and takes another body with a used webhook-id as a repetition', async () => {
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
