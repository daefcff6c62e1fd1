import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ApprovalPoliciesService, InterruptsService } from '#approvals';
import type { MemberPrincipal } from '#auth';
import { ChatService } from '#chat';
import { type Interrupt, JobStopper, SnapshotRepository } from '#jobs';
import { defineTool, type ToolContext, ToolRegistry } from '#tools';

import { chat } from '../chaos/chat.js';
import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

/** A call of the isolated tool at work. */
interface Digging {
  readonly args: Readonly<Record<string, unknown>>;
  readonly context: ToolContext;
  readonly finish: (result: unknown) => void;
}

const call = (name: string, args: object, id = `call_${name}`) => ({ id, name, arguments: JSON.stringify(args) });

describe('job with an isolated tool in one process', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let api: TestApi;
  let owner: MemberPrincipal;
  const diggings: Digging[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url, WORKER_SLOTS: '1' } });
    const people = await api.people.workspaceOf('acme');
    owner = people.owner.principal;
    api.api.app.get(ToolRegistry).register(
      defineTool({
        name: 'dig',
        description: 'Takes its time.',
        effect: 'idempotent',
        isolation: 'queue',
        timeoutMs: 60_000,
        input: { type: 'object', properties: { depth: { type: 'number' } } },
        execute: (args, context) => {
          const { promise, resolve } = Promise.withResolvers<unknown>();
          diggings.push({ args, context, finish: resolve });
          return promise;
        },
      }),
    );
  });

  afterEach(() => {
    model.assertDone();
    diggings.length = 0;
  });

  afterAll(async () => {
    await api.close();
    await model.close();
    await database.close();
  });

  const start = async (tools: readonly string[]) =>
    (await api.api.app.get(ChatService).start(owner, chat('go', tools))).jobId;
  const snapshot = async (jobId: string) => {
    const found = await api.api.app.get(SnapshotRepository).read(owner.workspaceId, jobId);
    if (found === null) throw new Error(`job ${jobId} does not exist`);
    return found;
  };
  const reached = (jobId: string, status: string) =>
    eventually(`job ${jobId} is ${status}`, async () => {
      const seen = await snapshot(jobId);
      return seen.status === status ? seen : undefined;
    });
  const digging = (count = 1) => eventually(`${count} calls dig`, () => diggings[count - 1]);
  const eventsOf = async (jobId: string) =>
    (
      await database.postgres.engine.query<{ type: string; body: Record<string, unknown> }>(
        'SELECT type, body FROM job_event WHERE job_id = $1 ORDER BY seq',
        [jobId],
      )
    ).rows;
  const lastMessages = () => model.requests.at(-1)?.json['messages'] as { role: string; content: string }[];

  it('waits without a worker slot, shows the progress of the tool and continues with its result', async () => {
    model.enqueue(toolCallReply([call('dig', { depth: 3 })]));
    const jobId = await start(['dig']);
    const { args, context, finish } = await digging();
    expect(args).toEqual({ depth: 3 });
    await reached(jobId, 'waiting');
    context.progress({ progress: 1, total: 3, message: 'sand' });
    await eventually('progress is shown', async () =>
      (await eventsOf(jobId)).some(({ type }) => type === 'tool-progress') ? true : undefined,
    );
    // The only place of the worker is free.
    model.enqueue(textReply(['At once.']));
    expect(await reached(await start([]), 'completed')).toMatchObject({ content: 'At once.' });
    model.enqueue(textReply(['Found it.']));
    finish({ found: 'gold' });
    expect(await reached(jobId, 'completed')).toMatchObject({
      content: 'Found it.',
      calls: [{ name: 'dig', status: 'completed', result: '{"found":"gold"}' }],
    });
    expect(lastMessages().at(-1)).toMatchObject({ role: 'tool', content: '{"found":"gold"}' });
    const types = (await eventsOf(jobId)).map(({ type }) => type);
    expect(types.filter((type) => !type.startsWith('text'))).toEqual([
      ...['job-queued', 'job-started', 'round-started', 'round-finished', 'tool-call', 'job-waiting'],
      ...['tool-progress', 'tool-call-updated', 'job-requeued'],
      ...['job-started', 'round-started', 'round-finished', 'job-finished'],
    ]);
  });

  it('runs the other calls of the round meanwhile, and continues when all have ended', async () => {
    model.enqueue(
      toolCallReply([call('dig', { depth: 1 }), call('add_numbers', { a: 1, b: 2 })]),
      textReply(['Both done.']),
    );
    const jobId = await start(['dig', 'add_numbers']);
    const { finish } = await digging();
    await reached(jobId, 'waiting');
    expect((await snapshot(jobId)).calls.map(({ name, status }) => [name, status])).toEqual([
      ['dig', 'running'],
      ['add_numbers', 'completed'],
    ]);
    finish('dug');
    expect(await reached(jobId, 'completed')).toMatchObject({ content: 'Both done.' });
    expect(
      lastMessages()
        .slice(-2)
        .map(({ content }) => content),
    ).toEqual(['dug', '3']);
  });

  it('sends a call with its edited arguments, and only after the approval', async () => {
    const policies = api.api.app.get(ApprovalPoliciesService);
    const rules = { rules: [{ match: 'dig', action: 'require_approval' }] };
    await policies.save(owner, { policy: rules, expectedVersion: null });
    model.enqueue(toolCallReply([call('dig', { depth: 9 })]), textReply(['Careful.']));
    const jobId = await start(['dig']);
    const [request] = await eventually('it asks', async () => {
      const open: readonly Interrupt[] = await api.api.app
        .get(InterruptsService)
        .list(owner, { jobId, statuses: ['open'] }, { limit: 10 });
      return open.length === 0 ? undefined : open;
    });
    expect(diggings).toEqual([]);
    await api.api.app.get(InterruptsService).decide(owner, request?.id ?? '', {
      decision: 'approve',
      argumentsHash: request?.request['argumentsHash'],
      arguments: { depth: 1 },
    });
    const { args, finish } = await digging();
    expect(args).toEqual({ depth: 1 });
    finish('carefully dug');
    expect(await reached(jobId, 'completed')).toMatchObject({ content: 'Careful.' });
    await policies.save(owner, { policy: {}, expectedVersion: null });
  });

  it('ends at once when it is stopped, and aborts the tool', async () => {
    model.enqueue(toolCallReply([call('dig', { depth: 2 })]));
    const jobId = await start(['dig']);
    const { context, finish } = await digging();
    await reached(jobId, 'waiting');
    const scope = { workspaceId: owner.workspaceId, principal: owner.id, userId: owner.userId, where: () => ({}) };
    expect(await api.api.app.get(JobStopper).stop(scope, jobId)).toBe('aborted');
    await eventually('the tool is aborted', () => (context.signal.aborted ? true : undefined));
    finish('too late');
    expect(await snapshot(jobId)).toMatchObject({ status: 'cancelled', calls: [{ status: 'cancelled' }] });
  });

  it('continues when a person stops the call, and the model reads that it was stopped', async () => {
    model.enqueue(toolCallReply([call('dig', { depth: 2 })]), textReply(['Without it, then.']));
    const jobId = await start(['dig']);
    const { context, finish } = await digging();
    await reached(jobId, 'waiting');
    const [row] = (
      await database.postgres.engine.query<{ id: string }>('SELECT id FROM tool_call WHERE job_id = $1', [jobId])
    ).rows;
    const key = (await api.people.keyOf(owner, ['read', 'write'])).key;
    const reply = await api.call('POST', `/api/tool-queue/calls/${row?.id ?? ''}/cancel`, { key });
    expect(reply.body).toEqual({ state: 'stopping' });
    await eventually('the tool is aborted', () => (context.signal.aborted ? true : undefined));
    finish('ignored');
    expect(await reached(jobId, 'completed')).toMatchObject({ content: 'Without it, then.' });
    expect(lastMessages().at(-1)?.content).toBe('Tool execution cancelled');
  });
});
