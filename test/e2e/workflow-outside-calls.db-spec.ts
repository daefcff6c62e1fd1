import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ClientToolsService } from '#approvals';
import type { MemberPrincipal } from '#auth';
import { SnapshotRepository } from '#jobs';
import { defineTool, type ToolContext, ToolRegistry } from '#tools';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent } from '../harness/workflow-stage.js';
import { publish, sketch, startWorkflow } from '../harness/workflows.js';

/** A call of the isolated tool at work. */
interface Digging {
  readonly context: ToolContext;
  readonly finish: (result: unknown) => void;
}

describe('external calls of agent nodes', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let api: TestApi;
  let owner: MemberPrincipal;
  const diggings: Digging[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    const env = { MODEL_BASE_URL: model.url, WORKER_SLOTS: '1' };
    api = await startTestApi(database, { env });
    owner = (await api.people.workspaceOf('acme')).owner.principal;
    const registry = api.api.app.get(ToolRegistry);
    const common = { description: 'For tests.', effect: 'idempotent', input: { type: 'object' } } as const;
    registry.register(
      defineTool({
        ...{ ...common, name: 'dig', isolation: 'queue', timeoutMs: 60_000 },
        execute: (_, context) => {
          const { promise, resolve } = Promise.withResolvers<unknown>();
          diggings.push({ context, finish: resolve });
          return promise;
        },
      }),
    );
    registry.register(defineTool({ ...common, name: 'open_file', runtime: 'client' }));
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

  const call = (name: string) => toolCallReply([{ id: `call_${name}`, name, arguments: '{}' }]);
  const snapshot = async (jobId: string) => api.api.app.get(SnapshotRepository).read(owner.workspaceId, jobId);
  const reached = (jobId: string, status: string) =>
    eventually(`job ${jobId} is ${status}`, async () => {
      const seen = await snapshot(jobId);
      return seen?.status === status ? seen : undefined;
    });
  let names = 0;
  const run = async (nodes: Parameters<typeof sketch>[0], edges: readonly string[]) => {
    names += 1;
    const workflow = await publish(api.api, owner, sketch(nodes, edges, { name: `workflow ${names}` }));
    return startWorkflow(api.api, owner, { workflow, prompt: 'Hello' });
  };

  it('wait for the isolated queue without a worker slot, and continue with the result', async () => {
    model.enqueue(call('dig'));
    const jobId = await run({ miner: agent('Dig.', { tools: ['dig'] }) }, ['start -> miner']);
    const { finish } = await eventually('it digs', () => diggings[0]);
    await reached(jobId, 'waiting');
    // The only place of the worker is free.
    expect(
      await reached(await run({ out: { type: 'output', format: 'text' } }, ['start -> out']), 'completed'),
    ).toMatchObject({ content: 'Hello' });
    model.enqueue(textReply(['Gold!']));
    finish('gold');
    expect(await reached(jobId, 'completed')).toMatchObject({
      content: 'Gold!',
      calls: [{ name: 'dig', status: 'completed', result: 'gold' }],
    });
  });

  it('take the result of the isolated queue while another node works', async () => {
    const gate = createGate();
    model.answer(({ body }) =>
      body.includes('Think slowly.') ? { ...textReply(['Thought.']), before: gate } : undefined,
    );
    const asked = model.requests.length;
    model.answer(({ body, json }) => {
      if (!body.includes('Dig here.')) return undefined;
      return JSON.stringify(json['messages']).includes('"tool"') ? textReply(['Gold.']) : call('dig');
    });
    const nodes = { miner: agent('Dig here.', { tools: ['dig'] }), thinker: agent('Think slowly.') };
    const jobId = await run(nodes, ['start -> miner', 'start -> thinker']);
    const { finish } = await eventually('it digs', () => diggings[0]);
    finish('gold');
    await eventually('the miner is called', () => (model.requests.length >= asked + 3 ? true : undefined));
    gate.open();
    expect(await reached(jobId, 'completed')).toMatchObject({ content: 'Thought.' });
    const { rows } = await database.postgres.engine.query(
      `SELECT 1 FROM job_event WHERE job_id = $1 AND type = 'job-waiting'`,
      [jobId],
    );
    expect(rows).toEqual([]);
  });

  it('reach only a client of the requester', async () => {
    model.enqueue(call('open_file'));
    const jobId = await run({ reader: agent('Read.', { tools: ['open_file'] }) }, ['start -> reader']);
    await reached(jobId, 'waiting');
    const clients = api.api.app.get(ClientToolsService);
    const callId = 'call_open_file';
    const { claimToken } = await clients.claim(owner, jobId, { callId, deviceId: 'a laptop' });
    await clients.validate(owner, jobId, { callId, claimToken });
    model.enqueue(textReply(['It lists: milk.']));
    await clients.submit(owner, jobId, { callId, claimToken, result: 'milk' });
    expect(await reached(jobId, 'completed')).toMatchObject({
      content: 'It lists: milk.',
      calls: [{ name: 'open_file', status: 'completed', result: 'milk' }],
    });
  });
});
