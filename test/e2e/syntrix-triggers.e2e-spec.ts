import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ApprovalPoliciesService } from '#approvals';
import type { Role } from '#auth';
import { JobQueue } from '#jobs';
import { defineTool, ToolRegistry } from '#tools';

import type { SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { runToEnd } from '../harness/processes.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { connect, signingSecret, startSyntrix, workerTriggers } from '../harness/syntrix-stage.js';

interface Delivery {
  readonly status: string;
  readonly reason: string | null;
  readonly triggerId: string;
}

describe('a trigger whose url is a path of this server', () => {
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

interface OpenRequest {
  readonly id: string;
  readonly kind: string;
  readonly jobId: string;
  readonly request: { readonly argumentsHash?: string };
}

describe('a pending tool document', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let server: SyntrixServer;
  let test: TestApi;
  let admin: TestMember;
  /** Keeps calls of `pay` from ending. */
  const gate = createGate();
  const called: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    test = await startTestApi(database, { env: { MODEL_BASE_URL: model.url, ALLOW_PRIVATE_TOOL_URLS: 'true' } });
    const people = await test.people.workspaceOf('acme');
    admin = people.admin;
    const input = { type: 'object', properties: { to: { type: 'string' } } } as const;
    for (const name of ['book', 'pay'])
      test.api.app.get(ToolRegistry).register(
        defineTool({
          ...{ name, description: name, input, timeoutMs: 280_000 },
          execute: async () => {
            called.push(name);
            if (name === 'pay') await gate.opened;
            return `${name} done`;
          },
        }),
      );
    test.api.app.get(ToolRegistry).register(
      defineTool({
        ...{ name: 'stall', description: 'stall', input, timeoutMs: 50 },
        execute: async () => {
          called.push('stall');
          await gate.opened;
          return 'late';
        },
      }),
    );
    const policy = { rules: [{ match: 'book', action: 'require_approval' }] };
    await test.api.app.get(ApprovalPoliciesService).save(people.owner.principal, { policy, expectedVersion: null });
    server = await startSyntrix();
    await connect(test, server, { key: admin.key, tools: ['book', 'pay', 'stall'] });
    server.triggers = workerTriggers(test.url);
    model.answer(() => textReply(['Done.']));
  });

  afterEach(() => {
    called.length = 0;
  });

  afterAll(async () => {
    gate.open();
    await server.close();
    await test.close();
    await model.close();
    await database.close();
  });

  const newChat = () => `users/u/orch-chats/${randomUUID()}`;
  const documentOf = (chat: string) => server.store.list(`${chat}/toolcall`)[0];

  /** Adds a pending tool document, whose delivery starts the call. */
  async function request(chat: string, toolName: string): Promise<void> {
    server.store.put(`${chat}/messages/m1`, { id: 'm1', role: 'user', content: 'Go ahead', createdAt: 1 });
    const call = { id: 'call_1', toolName, args: { to: 'Rome' }, status: 'pending', createdAt: 2 };
    server.create(`${chat}/toolcall`, call);
    await server.settled();
    expect(server.deliveries.at(-1)).toMatchObject({ triggerId: 'on-tool-pending', attempts: [200] });
  }

  const openRequest = () =>
    eventually('a request is open', async () => {
      const { body } = await test.call('GET', '/api/interrupts?status=open', { key: admin.key });
      return (body as { interrupts: readonly OpenRequest[] }).interrupts[0];
    });
  const decide = async ({ id }: OpenRequest, body: object) => {
    const reply = await test.call('POST', `/api/interrupts/${id}/decision`, { key: admin.key, body });
    expect(reply).toMatchObject({ status: 200 });
  };
  const settled = (chat: string) =>
    eventually('the document is settled', () => {
      const document = documentOf(chat);
      return document?.['status'] === 'pending' ? undefined : document;
    });
  const answered = (chat: string) =>
    eventually('the chat is answered', () =>
      server.store.list(`${chat}/messages`).find(({ role }) => role === 'assistant'),
    );

  it('stays pending until its call is approved, and then gets the result', async () => {
    const chat = newChat();
    await request(chat, 'book');
    const open = await openRequest();
    expect(open.kind).toBe('tool_approval');
    expect(documentOf(chat)).toMatchObject({ status: 'pending' });
    expect(called).toEqual([]);
    await decide(open, { decision: 'approve', argumentsHash: open.request.argumentsHash });
    expect(await settled(chat)).toMatchObject({ status: 'success', result: '"book done"' });
    expect(called).toEqual(['book']);
    expect(await answered(chat)).toMatchObject({ content: 'Done.' });
  });

  it('becomes failed when its call is denied, and the tool never runs', async () => {
    const chat = newChat();
    await request(chat, 'book');
    const open = await openRequest();
    await decide(open, { decision: 'deny', reason: 'Too expensive' });
    expect(await settled(chat)).toMatchObject({ status: 'failed', error: expect.stringContaining('Too expensive') });
    expect(called).toEqual([]);
    expect(await answered(chat)).toMatchObject({ content: 'Done.' });
  });

  it('becomes failed when its job is cancelled while it waits for an approval, and the chat continues', async () => {
    const chat = newChat();
    await request(chat, 'book');
    const { jobId } = await openRequest();
    expect(await test.call('POST', `/api/jobs/${jobId}/abort`, { key: admin.key })).toMatchObject({ status: 200 });
    expect(await settled(chat)).toMatchObject({ status: 'failed', error: 'The tool call was cancelled' });
    expect(called).toEqual([]);
    expect(await answered(chat)).toMatchObject({ content: 'Done.' });
  });

  it('becomes failed when its tool times out, and the chat continues', async () => {
    const chat = newChat();
    await request(chat, 'stall');
    expect(await settled(chat)).toMatchObject({ status: 'failed', error: 'Handler timeout after 50ms' });
    expect(called).toEqual(['stall']);
    expect(await answered(chat)).toMatchObject({ content: 'Done.' });
  });

  it('becomes failed when its job runs out of attempts', async () => {
    const chat = newChat();
    await request(chat, 'book');
    const { jobId } = await openRequest();
    const { workspaceId } = admin.principal;
    await database.postgres.workerPool.query(
      `UPDATE job SET status = 'queued', attempts = 1000 WHERE id = $1 AND status = 'waiting'`,
      [jobId],
    );
    test.api.app.get(JobQueue).hint({ workspaceId, jobId, kind: 'chat' });
    expect(await settled(chat)).toMatchObject({ status: 'failed', error: expect.any(String) });
    expect(called).toEqual([]);
    expect(await answered(chat)).toMatchObject({ content: 'Done.' });
  });

  it('stays pending while the outcome of its call is unknown, and gets the decision as its result', async () => {
    const chat = newChat();
    await request(chat, 'pay');
    await eventually('the call runs', () => (called.length > 0 ? true : undefined));
    const { rows } = await database.postgres.workerPool.query<{ id: string; workspaceId: string }>(
      // As if the worker died now and another one took over its started calls.
      `UPDATE job SET lease_epoch = lease_epoch + 1, lease_until = clock_timestamp() - interval '1 s'
        WHERE status = 'running' AND input->'external'->>'chatPath' = $1 RETURNING id, workspace_id AS "workspaceId"`,
      [chat],
    );
    for (const { id: jobId, workspaceId } of rows)
      test.api.app.get(JobQueue).hint({ workspaceId, jobId, kind: 'chat' });
    const open = await openRequest();
    expect([open.kind, rows.map(({ id }) => id)]).toEqual(['unknown_outcome', [open.jobId]]);
    expect(documentOf(chat)).toMatchObject({ status: 'pending' });
    await decide(open, { decision: 'happened', result: 'Paid.' });
    expect(await settled(chat)).toMatchObject({ status: 'success', result: '"Paid."' });
    expect(called).toEqual(['pay']);
    expect(await answered(chat)).toMatchObject({ content: 'Done.' });
  });
});

describe('npm run demo:triggers', () => {
  const entry = join('test', 'demo-triggers.main.js');

  it('npm run demo:triggers -- --once prints each step from the message to the reply, and leaves nothing behind', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'nightshift-demo-'));
    const { code, stdout, stderr } = await runToEnd(['--once'], { TMPDIR: folder }, entry);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const steps = [
      /The user asks: What is 17 \* 23\?/,
      /on-user-message delivers m1: accepted \(200\)/,
      /A round asks for the tool calculate .*pending\)/,
      /on-tool-pending delivers call_\w+: accepted \(200\)/,
      /The tool calculate has run: 391 .*success\)/,
      /on-tool-success delivers call_\w+: accepted \(200\)/,
      /A round ends with the reply: .*391.*\(document msg_\w+\)/,
      /^Done: 3 deliveries, 3 jobs, 1 tool call and one reply in [\d.]+ s\.$/m,
    ];
    for (const text of steps) expect(stdout).toMatch(text);
    expect(await readdir(folder)).toEqual([]);
    const servers = stdout.match(/http:\/\/127\.0\.0\.1:\d+/g) ?? [];
    expect(servers).toHaveLength(2);
    for (const url of servers) await expect(fetch(url)).rejects.toThrow();
    await rm(folder, { recursive: true });
  });

  it('npm run demo:triggers exits with 1 and a reason when it cannot start', async () => {
    const { code, stderr } = await runToEnd(['--once'], { TMPDIR: '/no/such/folder' }, entry);
    expect(code).toBe(1);
    expect(stderr).toContain('Failed: ENOENT');
  });
});
