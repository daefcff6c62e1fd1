import { randomUUID } from 'node:crypto';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ApprovalPoliciesService } from '#approvals';
import { JobQueue } from '#jobs';
import { defineTool, ToolRegistry } from '#tools';

import type { SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textReply } from '../harness/scripted-reply.js';
import { connect, startSyntrix, workerTriggers } from '../harness/syntrix-stage.js';

interface OpenRequest {
  readonly id: string;
  readonly kind: string;
  readonly jobId: string;
  readonly request: { readonly argumentsHash?: string };
}

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

describe('a pending tool document', () => {
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

  it('becomes failed when its job is cancelled while it waits for an approval, and the chat goes on', async () => {
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
    await database.postgres.engine.query(
      `UPDATE job SET status = 'queued', attempts = 1000 WHERE id = $1 AND status = 'waiting'`,
      [jobId],
    );
    test.api.app.get(JobQueue).hintWithoutMessage({ workspaceId, jobId, kind: 'chat' });
    expect(await settled(chat)).toMatchObject({ status: 'failed', error: expect.any(String) });
    expect(called).toEqual([]);
    expect(await answered(chat)).toMatchObject({ content: 'Done.' });
  });

  it('stays pending while the outcome of its call is unknown, and gets the decision as its result', async () => {
    const chat = newChat();
    await request(chat, 'pay');
    await eventually('the call runs', () => (called.length > 0 ? true : undefined));
    const { rows } = await database.postgres.engine.query<{ id: string; workspaceId: string }>(
      // As if the worker died now and another one took over its started calls.
      `UPDATE job SET lease_epoch = lease_epoch + 1, lease_until = clock_timestamp() - interval '1 s'
        WHERE status = 'running' AND input->'external'->>'chatPath' = $1 RETURNING id, workspace_id AS "workspaceId"`,
      [chat],
    );
    for (const { id: jobId, workspaceId } of rows)
      test.api.app.get(JobQueue).hintWithoutMessage({ workspaceId, jobId, kind: 'chat' });
    const open = await openRequest();
    expect([open.kind, rows.map(({ id }) => id)]).toEqual(['unknown_outcome', [open.jobId]]);
    expect(documentOf(chat)).toMatchObject({ status: 'pending' });
    await decide(open, { decision: 'happened', result: 'Paid.' });
    expect(await settled(chat)).toMatchObject({ status: 'success', result: '"Paid."' });
    expect(called).toEqual(['pay']);
    expect(await answered(chat)).toMatchObject({ content: 'Done.' });
  });
});
