import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { signatureOf, type SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply } from '../harness/scripted-reply.js';
import { connect, signingSecret, startSyntrix } from '../harness/syntrix-stage.js';

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
  const { rows } = await database.postgres.engine.query<{ input: object }>(
    "SELECT input FROM job WHERE input->'external'->>'chatPath' = $1",
    [chat],
  );
  return rows.map(({ input }) => JSON.stringify(input));
};

describe('a Syntrix connection', () => {
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
