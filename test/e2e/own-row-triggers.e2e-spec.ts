import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { z } from 'zod';

import { newId } from '#platform';
import { defineTool, ToolRegistry } from '#tools';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { WebhookReceiver } from '../harness/webhook-receiver.js';

const SAVE = `mutation($definition: JSON!) {
  saveTrigger(input: { definition: $definition }) { trigger { id } userErrors { message } } }`;
const START = `mutation($message: String!) {
  startChat(input: { message: $message, tools: ["double"] }) { jobId userErrors { message } } }`;
const SHOWN = 'query($id: ID!) { trigger(id: $id) { fired failed lastError } }';

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
  expect(await api.call('POST', '/api/triggers/shop/changes', { key: owner.key, body })).toMatchObject({ status: 202 });
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
