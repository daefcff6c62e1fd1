import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { z } from 'zod';

import { GuardedFetch, newId, Secret, systemClock } from '#platform';
import { defineTool, ToolRegistry } from '#tools';

import { TriggerFileLoader } from '../../libs/triggers/src/inbound/trigger-file-loader.js';
import { PreIssuedTokens } from '../../libs/triggers/src/outbound/pre-issued-tokens.js';
import { SyntrixClient, type SyntrixTarget } from '../../libs/triggers/src/syntrix/syntrix-client.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { documentExample } from '../harness/document-example.js';
import { eventually } from '../harness/eventually.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { WebhookReceiver } from '../harness/webhook-receiver.js';

const SAVE = `mutation($definition: JSON!) {
  saveTrigger(input: { definition: $definition }) { trigger { id } userErrors { code field message } } }`;
const DELETE = 'mutation($id: ID!) { deleteTrigger(input: { id: $id }) { userErrors { message } } }';
const CONNECT =
  'mutation { saveSyntrixConnection(input: { name: "shop", baseUrl: "https://syntrix.example" }) { userErrors { message } } }';
const START = `mutation($message: String!, $threadId: ID) {
  startChat(input: { message: $message, tools: ["double"], threadId: $threadId }) { jobId userErrors { message } } }`;

interface Sent {
  readonly collection: string;
  readonly documentId: string;
  readonly database: string;
  readonly after: { readonly jobId: string; readonly threadId: string };
  readonly preIssuedToken?: string;
}
interface Page {
  readonly documents: readonly { readonly id: string; readonly role?: string; readonly content?: string }[];
  readonly nextCursor?: string;
}

let database: TestDatabase;
let model: ScriptedModel;
let receiver: WebhookReceiver;
let api: TestApi;
let owner: TestMember;
let fetch: GuardedFetch;
let folder: string;
let triggerId: string;

beforeAll(async () => {
  [database, model, receiver] = await Promise.all([
    createTestDatabase(),
    ScriptedModel.start(),
    WebhookReceiver.listen(),
  ]);
  model.answer(({ json }) => {
    const last = (json['messages'] as readonly { role: string; content: unknown }[]).at(-1);
    const asks = last?.role === 'user' && last.content === 'Double 4';
    return asks ? toolCallReply([{ id: 'call_1', name: 'double', arguments: '{"n":4}' }]) : textReply(['Eight']);
  });
  fetch = new GuardedFetch({ allowPrivate: true });
  folder = await mkdtemp(join(tmpdir(), 'tokens-'));
  const env = { ...receiver.env, MODEL_BASE_URL: model.url, TRIGGERS_PATH: folder };
  api = await startTestApi(database, { env });
  const input = z.object({ n: z.number() });
  const execute = ({ n }: { readonly n: number }) => Promise.resolve({ doubled: 2 * n });
  api.api.app.get(ToolRegistry).register(defineTool({ name: 'double', description: 'Doubles', input, execute }));
});
beforeEach(async () => {
  ({ owner } = await api.people.workspaceOf(`tokens-${newId()}`));
  receiver.received.length = 0;
  receiver.answer = (response) => response.writeHead(200).end('ok');
});
afterAll(async () => {
  await api.close();
  await fetch.close();
  await Promise.all([receiver.close(), model.close(), rm(folder, { recursive: true })]);
  await database.close();
});

const sql = <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
  database.postgres.withWorkspaceSql(
    owner.principal.workspaceId,
    async (client) => (await client.query<Row>(text, [...values])).rows,
  );
const ask = (query: string, variables: object) => graphqlMember(api, owner.key).query(query, variables);
const definitionOf = (changes: object) => ({
  ...{ triggerId: 'sends', database: owner.principal.workspaceId, url: receiver.url(), issueToken: true },
  ...{ collection: 'threads/*/messages', events: ['create'], condition: "role == 'assistant'" },
  ...changes,
});
const save = async (changes: object) => {
  const definition = definitionOf(changes);
  const { saveTrigger } = (await ask(SAVE, { definition })) as {
    saveTrigger: { trigger: { id: string } | null; userErrors: readonly object[] };
  };
  triggerId = saveTrigger.trigger?.id ?? '';
  return saveTrigger.userErrors;
};
const sent = (count: number): Promise<Sent[]> =>
  eventually('it is delivered', () => {
    const { received } = receiver;
    return received.length >= count ? received.map(({ body }) => JSON.parse(String(body)) as Sent) : undefined;
  });
const load = async (...triggers: readonly object[]) => {
  await writeFile(join(folder, 'triggers.json'), JSON.stringify(triggers));
  await api.api.app.get(TriggerFileLoader).load();
};
/** Runs a chat that calls a tool; returns the webhook delivery of its end, and the token in it. */
const deliver = async (
  saved = () => save({}),
): Promise<{ readonly root: string; readonly token: string; readonly delivery: Sent }> => {
  expect(await saved()).toEqual([]);
  await ask(START, { message: 'Double 4' });
  const [delivery] = await sent(1);
  if (delivery?.preIssuedToken === undefined) throw new Error('there is no token');
  return { root: delivery.collection.replace('/messages', ''), token: delivery.preIssuedToken, delivery };
};
const post = (token: string, route: string, body: object) =>
  api.call('POST', `/trigger/v1/databases/${owner.principal.workspaceId}/${route}`, { key: token, body });
const query = async (token: string, body: object): Promise<Page> => {
  const reply = await post(token, 'query', body);
  expect(reply.status).toBe(200);
  return reply.body as Page;
};

it('The token of a delivery lets SyntrixClient read the history of its thread', async () => {
  const { root, token, delivery } = await deliver();
  const target: SyntrixTarget = {
    baseUrl: api.url,
    apiStyle: 'databases',
    database: delivery.database,
    toolCollection: 'tool-calls',
    token: { value: new Secret(token), preIssued: true },
  };
  const client = new SyntrixClient(target, { fetch, clock: systemClock, signal: new AbortController().signal });
  const { messages, toolCalls } = await client.fetchHistory(root);
  const { jobId } = delivery.after;
  expect(messages).toMatchObject([
    { role: 'user', content: 'Double 4', jobId },
    { id: delivery.documentId, role: 'assistant', content: 'Eight', jobId },
  ]);
  expect(toolCalls).toMatchObject([{ toolName: 'double', args: { n: 4 }, status: 'success', result: '{"doubled":8}' }]);
  const times = [messages[0], toolCalls[0], messages[1]].map((document) => Number(document?.['createdAt']));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(await client.get(`${root}/messages/${delivery.documentId}`)).toMatchObject({ content: 'Eight' });
  expect(await client.get(`jobs/${jobId}`)).toMatchObject({ kind: 'chat', status: 'completed' });
  expect(await client.get(`${root}/messages/${newId()}`)).toBeNull();
  expect(delivery.after).toEqual(
    await client
      .get(`${root}/messages/${delivery.documentId}`)
      .then((found) => ({ ...found, collection: `${root}/messages` })),
  );
  await expect(client.postMessage(root, { id: newId(), role: 'user' })).rejects.toThrow('403');
});

it('The example of docs/triggers.md lists the messages of users', async () => {
  const { root, token } = await deliver();
  const script = documentExample('docs/triggers.md', 'read-thread').replace('acme', owner.principal.workspaceId);
  const env = { ...process.env, NIGHTSHIFT_URL: api.url, TOKEN: token, THREAD: root.replace('threads/', '') };
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env });
  expect(JSON.parse(stdout)).toMatchObject({ documents: [{ role: 'user', content: 'Double 4' }] });
});

it('Each attempt has a token of its own, which is stored nowhere', async () => {
  receiver.answer = (response, { body }) => response.writeHead(receiver.received.length === 1 ? 500 : 200).end(body);
  await save({ retryPolicy: { maxAttempts: 2, initialBackoff: '1ms' } });
  await ask(START, { message: 'Hello' });
  const tokens = (await sent(2)).map(({ preIssuedToken = '' }) => preIssuedToken);
  expect(new Set(tokens).size).toBe(2);
  const [row] = await eventually('it is delivered', async () => {
    const rows = await sql<{ status: string; text: string }>('SELECT status, d::text AS text FROM webhook_delivery d');
    return rows[0]?.status === 'delivered' ? rows : undefined;
  });
  for (const token of tokens) expect(row?.text).not.toContain(token.slice(-100));
});

it('A token opens only its own thread, and only for reading', async () => {
  const { root, token, delivery } = await deliver();
  await ask(START, { message: 'Elsewhere' });
  const [, other] = await sent(2);
  const foreign = other?.collection ?? '';
  expect(foreign).not.toBe(`${root}/messages`);
  const { jobId } = other?.after ?? {};
  expect((await query(token, { collection: 'jobs' })).documents.map(({ id }) => id)).toEqual([delivery.after.jobId]);
  const ofOthers = await post(token, 'get', {
    paths: [`jobs/${String(jobId)}`, `${root}/messages/${other?.documentId ?? ''}`],
  });
  expect(ofOthers).toMatchObject({ status: 200, body: { documents: [] } });
  const refused = [
    await post(token, 'query', { collection: foreign }),
    await post(token, 'query', { collection: 'threads' }),
    await post(token, 'get', { paths: [`${foreign}/${other?.documentId ?? ''}`] }),
    await api.call('POST', '/trigger/v1/databases/other/query', {
      key: token,
      body: { collection: `${root}/messages` },
    }),
    await post(token, 'write', { writes: [{ type: 'create', path: `${root}/messages/x`, data: {} }] }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
  expect(JSON.stringify(refused.at(-1)?.body)).toContain('only read');
  expect((await api.call('POST', '/api/triggers/shop/changes', { key: token, body: {} })).status).toBe(401);
});

it('A query filters, orders and pages documents', async () => {
  const { root, token } = await deliver();
  const [{ thread_id: threadId } = { thread_id: '' }] = await sql<{ thread_id: string }>('SELECT thread_id FROM job');
  for (const message of ['One', 'Two']) {
    await ask(START, { message, threadId });
    await sent(receiver.received.length + 1);
  }
  const collection = `${root}/messages`;
  const ids: string[] = [];
  let startAfter: string | undefined;
  do {
    const page = await query(token, { collection, limit: 2, ...(startAfter === undefined ? {} : { startAfter }) });
    ids.push(...page.documents.map(({ id }) => id));
    startAfter = page.nextCursor;
  } while (startAfter !== undefined);
  const orderBy = [{ field: 'createdAt', direction: 'desc' }];
  const all = await query(token, { collection, orderBy });
  expect(all.nextCursor).toBeUndefined();
  expect(ids).toEqual(all.documents.map(({ id }) => id).toReversed());
  const contents = async (...filters: readonly object[]) =>
    (await query(token, { collection, filters })).documents.map(({ content }) => content);
  expect(await contents()).toEqual(['Double 4', 'Eight', 'One', 'Eight', 'Two', 'Eight']);
  const isUser = { field: 'role', op: '==', value: 'user' };
  expect(await contents(isUser, { field: 'content', op: '!=', value: 'One' })).toEqual(['Double 4', 'Two']);
  expect(await contents(isUser, { field: 'position', op: '>=', value: 2 })).toEqual(['One', 'Two']);
  expect(await contents({ field: 'position', op: '>', value: 'text' })).toEqual([]);
  expect(await contents({ field: 'absent', op: '==', value: null }, isUser)).toHaveLength(3);
});

it('A response has documents of at most 8 MiB, and a query continues with the next one', async () => {
  const { root, token } = await deliver();
  const [{ thread_id: threadId } = { thread_id: '' }] = await sql<{ thread_id: string }>('SELECT thread_id FROM job');
  await ask(START, { message: 'One', threadId });
  await sent(2);
  await sql(`UPDATE message SET content = to_jsonb(repeat('x', 5000000)) WHERE role = 'user'`);
  const collection = `${root}/messages`;
  const first = await query(token, { collection });
  expect(first.documents.map(({ role }) => role)).toEqual(['user', 'assistant']);
  const second = await query(token, { collection, startAfter: first.nextCursor });
  expect(second.documents.map(({ role }) => role)).toEqual(['user', 'assistant']);
  expect(second.nextCursor).toBeUndefined();
  const paths = [first, second].map(({ documents }) => `${collection}/${documents[0]?.id ?? ''}`);
  expect(await post(token, 'get', { paths })).toMatchObject({ status: 413, body: { code: 'too_large' } });
  expect((await post(token, 'get', { paths: paths.slice(1) })).status).toBe(200);
});

it('Requests over a limit are refused with the field', async () => {
  const { root, token } = await deliver();
  const collection = `${root}/messages`;
  const filter = { field: 'role', op: '==', value: 'user' };
  const refused = [
    ['get', { paths: Array.from({ length: 101 }, () => `${collection}/${newId()}`) }, 'paths'],
    ['query', { collection, limit: 1_001 }, 'limit'],
    ['query', { collection, filters: Array.from({ length: 21 }, () => filter) }, 'filters'],
    ['query', { collection, filters: [{ ...filter, op: 'like' }] }, 'op'],
    ['query', { collection, orderBy: [{ field: 'role' }] }, 'orderBy'],
    ['query', { collection, startAfter: 'x' }, 'startAfter'],
  ] as const;
  for (const [route, body, field] of refused) {
    const reply = await post(token, route, body);
    expect([400, 422]).toContain(reply.status);
    expect(JSON.stringify(reply.body)).toContain(field);
  }
  expect((await post(token, 'query', { collection, startAfter: 'x'.repeat(300_000) })).status).toBe(413);
});

it('A token has the rights that the member who saved the trigger has at that moment', async () => {
  const { root, token } = await deliver();
  const status = async () => (await post(token, 'query', { collection: `${root}/messages` })).status;
  expect(await status()).toBe(200);
  expect((await post(owner.key, 'query', { collection: `${root}/messages` })).status).toBe(401);
  await sql(`UPDATE membership SET role = 'member' WHERE user_id = $1`, [owner.principal.userId]);
  await eventually('the right is lost', async () => ((await status()) === 403 ? true : undefined));
  await sql(`UPDATE membership SET role = 'owner' WHERE user_id = $1`, [owner.principal.userId]);
  await eventually('the right is back', async () => ((await status()) === 200 ? true : undefined));
  await eventually('the trigger is deleted', async () => {
    const deleted = (await ask(DELETE, { id: triggerId }).catch(() => null)) as object | null;
    return deleted ?? undefined;
  });
  expect(await status()).toBe(401);
});

it('The token of a trigger in a file reads the thread of its delivery, until the file changes', async () => {
  const { root, token, delivery } = await deliver(async () => {
    await load(definitionOf({}));
    return [];
  });
  const status = async (collection = `${root}/messages`) => (await post(token, 'query', { collection })).status;
  expect(await query(token, { collection: `${root}/messages`, limit: 1 })).toMatchObject({
    documents: [{ role: 'user', content: 'Double 4' }],
  });
  expect(await status(`threads/${newId()}/messages`)).toBe(403);
  const [trigger] = await sql<{ id: string }>('SELECT id FROM trigger_definition');
  const tokens = api.api.app.get(PreIssuedTokens);
  tokens.clock = { ...systemClock, now: () => systemClock.now() - 600_001 };
  const scope = { workspaceId: owner.principal.workspaceId, database: delivery.database, triggerId: trigger?.id ?? '' };
  const expired = tokens.mint({ ...scope, threadId: root.replace('threads/', '') }).reveal();
  tokens.clock = systemClock;
  expect((await post(expired, 'query', { collection: `${root}/messages` })).status).toBe(401);
  await load(definitionOf({ issueToken: false }));
  expect(await status()).toBe(401);
});

it('A trigger in a file with issueToken needs a collection of the workspace', async () => {
  await ask(CONNECT, {});
  for (const changes of [{ database: 'shop' }, { collection: 'orders' }])
    await expect(load(definitionOf(changes))).rejects.toThrow(/trigger sends: issueToken works only for/);
  await load();
});

it('A trigger for jobs sends a token for the thread of the job', async () => {
  await save({ collection: 'jobs', events: ['update'], condition: "status == 'completed'" });
  await ask(START, { message: 'Hello' });
  const [delivery] = await sent(1);
  const { threadId } = delivery?.after ?? {};
  const page = await query(delivery?.preIssuedToken ?? '', { collection: `threads/${String(threadId)}/messages` });
  expect(page.documents.map(({ content }) => content)).toEqual(['Hello', 'Eight']);
});

it('A trigger with issueToken needs a collection of the workspace and a url', async () => {
  const refused = [
    await save({ database: 'shop' }),
    await save({ collection: 'orders' }),
    await save({ url: undefined, start: { prompt: "'x'" } }),
  ];
  for (const errors of refused)
    expect(errors).toMatchObject([
      { code: 'bad_request', field: 'definition', message: expect.stringContaining('issueToken') },
    ]);
});
