import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';

import type { SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { connect, signingSecret, startSyntrix } from '../harness/syntrix-stage.js';

const SAVE =
  'mutation($definition: JSON!) { saveTrigger(input: { definition: $definition }) { userErrors { message } } }';
const SECRET =
  'mutation($input: SetWorkspaceSecretInput!) { setWorkspaceSecret(input: $input) { userErrors { message } } }';
const DELIVERIES = `query($trigger: String) { webhookDeliveries(first: 20, filter: { triggerId: $trigger }) {
  nodes { status reason triggerId } } }`;

let database: TestDatabase;
let model: ScriptedModel;
let server: SyntrixServer;
let test: TestApi;
let people: Record<Role, TestMember>;
let admin: GraphqlMember;

/** Publishes a change as the database does. */
const publish = async (key: string, { type, path, document }: { type: string; path: string; document: object }) => {
  const slash = path.lastIndexOf('/');
  const change = { type, collection: path.slice(0, slash), documentId: path.slice(slash + 1), document };
  const changes = [{ ...change, timestamp: Date.now(), lsn: randomUUID() }];
  const { status } = await test.call('POST', '/api/triggers/shop/changes', { key, body: { changes } });
  expect(status).toBe(202);
};

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  test = await startTestApi(database, { env: { MODEL_BASE_URL: model.url, ALLOW_PRIVATE_TOOL_URLS: 'true' } });
  people = await test.people.workspaceOf('acme');
  admin = graphqlMember(test, people.admin.key);
  server = await startSyntrix({
    onChange: (type, document, path) => void publish(people.admin.key, { type, path, document }),
  });
  await connect(test, server, { key: people.admin.key, tools: ['get_current_time'] });
});

afterAll(async () => {
  model.assertDone();
  await server.close();
  await test.close();
  await model.close();
  await database.close();
});

const save = async (definition: object, member = admin) => {
  const { saveTrigger } = await member.query(SAVE, { definition: { database: 'shop', ...definition } });
  expect(saveTrigger).toEqual({ userErrors: [] });
};

interface Delivery {
  readonly status: string;
  readonly reason: string | null;
  readonly triggerId: string;
}

const settled = (count: number, { member = admin, trigger }: { member?: GraphqlMember; trigger?: string } = {}) =>
  eventually(`${count} deliveries have ended`, async () => {
    const { webhookDeliveries } = await member.query(DELIVERIES, { trigger });
    const { nodes } = webhookDeliveries as { nodes: Delivery[] }; // as the query asks
    return nodes.length >= count && nodes.every(({ status }) => status !== 'PENDING') ? nodes : undefined;
  });

const chats = 'users/*/orch-chats/*';
const triggerOf = (triggerId: string, changes: object = {}) => ({
  ...{ triggerId, collection: `${chats}/messages`, events: ['create'], condition: "role == 'user'" },
  ...{ url: '/webhook/llm', secretsRef: 'SYNTRIX_SECRET' },
  ...changes,
});

describe('a trigger whose url is a path of this server', () => {
  it('answers the chats of a database that publishes its changes, with the triggers of the example', async () => {
    const example = readFileSync(new URL('../../examples/triggers/syntrix.json', import.meta.url), 'utf8');
    for (const definition of JSON.parse(example) as object[]) await save(definition);
    model.enqueue(
      toolCallReply([{ id: 'call_1', name: 'get_current_time', arguments: '{}' }]),
      textReply(['It is late.']),
    );
    const chat = 'users/u/orch-chats/c';
    server.create(`${chat}/messages`, { id: 'm1', role: 'user', content: 'How late is it?', createdAt: 1 });
    const reply = await eventually('the chat is answered', () =>
      server.store.list(`${chat}/messages`).find(({ role }) => role === 'assistant'),
    );
    expect(reply['content']).toBe('It is late.');
    expect(server.store.list(`${chat}/toolcall`)).toMatchObject([{ id: 'call_1', status: 'success' }]);
    const delivered = await settled(3);
    expect(delivered.map(({ triggerId, status }) => `${triggerId} ${status}`).sort()).toEqual([
      'on-tool-pending DELIVERED',
      'on-tool-success DELIVERED',
      'on-user-message DELIVERED',
    ]);
  });

  it.each([
    ['without a signature', { secretsRef: undefined }, 'http_401'],
    ['signed with another secret', { secretsRef: 'OTHER_SECRET' }, 'http_401'],
    ['to an unknown connection', { url: '/webhook/nowhere/llm' }, 'http_401'],
    ['to another path', { url: '/webhook/chat' }, 'http_404'],
  ])('starts nothing %s, and leaves a dead letter', async (_, changes, reason) => {
    await admin.query(SECRET, { input: { name: 'OTHER_SECRET', value: 'not the secret of the deliveries' } });
    const trigger = `refused-${randomUUID()}`;
    const collection = `places/${trigger}/orch-chats/c/messages`;
    await save(triggerOf(trigger, { collection, ...changes }));
    const document = { role: 'user', content: 'Hello' };
    await publish(people.admin.key, { type: 'create', path: `${collection}/m1`, document });
    expect(await settled(1, { trigger })).toMatchObject([{ status: 'DEAD', reason }]);
    expect(model.requests).toHaveLength(2);
  });

  it('reaches no connection of another workspace, also with its secret', async () => {
    const { admin: other } = await test.people.workspaceOf('globex');
    const member = graphqlMember(test, other.key);
    await member.query(SECRET, { input: { name: 'SYNTRIX_SECRET', value: signingSecret } });
    await save(triggerOf('on-user-message'), member);
    const path = 'users/u/orch-chats/other/messages/m1';
    await publish(other.key, { type: 'create', path, document: { role: 'user', content: 'Hello' } });
    expect(await settled(1, { member })).toMatchObject([{ status: 'DEAD', reason: 'http_401' }]);
  });
});
