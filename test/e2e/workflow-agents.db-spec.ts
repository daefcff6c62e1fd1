import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ClientToolsService } from '#approvals';
import type { MemberPrincipal } from '#auth';
import { AgentsService } from '#chat';
import { SnapshotRepository } from '#jobs';
import { defineTool, type ToolContext, ToolRegistry } from '#tools';
import { StartWorkflowService, WorkflowsService } from '#workflows';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';
import { publish, sketch, startWorkflow } from '../harness/workflows.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage();
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

describe('node with an agent', () => {
  beforeAll(async () => {
    await stage.engine.app.get(AgentsService).create(stage.people.owner, {
      name: 'Clerk',
      model: 'clever',
      instructions: 'Be a clerk.',
      tools: ['look*'],
      parameters: { temperature: 0.1, top_p: 0.5 },
      limits: { maxRounds: 1 },
      toolApproval: { rules: [{ match: 'look_up', action: 'require_approval' }] },
    });
  });

  const edges = ['start -> a'];

  it('takes the fields of the agent that it does not set', async () => {
    stage.script('Be a clerk.', textReply(['Filed.']));
    const jobId = await stage.run({ a: { type: 'agent', agent: 'clerk' } }, edges);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Filed.' });
    const [request] = stage.requests('Be a clerk.').map(({ json }) => json);
    expect(request).toMatchObject({
      ...{ model: 'clever', temperature: 0.1, top_p: 0.5, tools: [{ function: { name: 'look_up' } }] },
    });
  });

  it('overrides fields of the agent', async () => {
    stage.script('Be a cook.', textReply(['Soup.']));
    const own = { model: 'plain', prompt: 'Be a cook.', temperature: 1, tools: ['send'] };
    const jobId = await stage.run({ a: { type: 'agent', agent: 'Clerk', ...own } }, edges);
    await stage.ended(jobId);
    const [request] = stage.requests('Be a cook.').map(({ json }) => json);
    expect(request).toMatchObject({
      ...{ model: 'plain', temperature: 1, top_p: 0.5, tools: [{ function: { name: 'send' } }] },
    });
  });

  it('applies the approval rules and the rounds of the agent', async () => {
    stage.script('Be a clerk.', toolCallReply([{ id: 'call_1', name: 'look_up', arguments: '{"to":"a"}' }]));
    const jobId = await stage.run({ a: { type: 'agent', agent: 'clerk' } }, edges);
    const [request] = await stage.waits(jobId);
    expect(request).toMatchObject({ kind: 'tool_approval', tool: 'look_up' });
    const argumentsHash = request?.request['argumentsHash'];
    await stage.answer(request, { decision: 'approve', argumentsHash });
    expect((await stage.ended(jobId)).content).toContain('Maximum tool iterations (1) reached.');
  });

  it('respects every limit of the agent', async () => {
    const { owner } = stage.people;
    const agents = stage.engine.app.get(AgentsService);
    const gate = createGate();
    const made = async (name: string, limits: object) =>
      agents.create(owner, { name, model: 'm', instructions: `Be ${name}.`, tools: ['look*'], limits });
    await made('Single', { maxToolCallsPerRound: 1 });
    await made('Short', { maxOutputBytes: 10 });
    await made('Quick', { roundTimeoutMs: 50 });
    const calls = ['a', 'b'].map((id) => ({ id, name: 'look_up', arguments: '{"to":"a"}' }));
    stage.script('Be Single.', toolCallReply(calls), textReply(['One will do.']));
    stage.script('Be Short.', textReply(['More than ten bytes.']));
    stage.script('Be Quick.', { ...textReply(['Late.']), before: gate });
    const on = (agent: string) =>
      stage.run({ a: { type: 'agent', agent, errorHandling: { retry: { maxRetries: 0 } } } }, edges);
    const [single, short, quick] = await Promise.all([on('single'), on('short'), on('quick')]);
    const statuses = (await stage.ended(single)).calls.map(({ status }) => status);
    expect(statuses).toEqual(['completed', 'skipped']);
    const failed = (message: string) => ({ status: 'failed', error: { message: expect.stringContaining(message) } });
    expect(await stage.ended(short)).toMatchObject(failed('10 bytes'));
    expect(await stage.ended(quick)).toMatchObject(failed('50 ms'));
    // On a slow machine its time is over before its model is asked.
    while (stage.requests('Be Quick.').length === 0)
      expect(await stage.ended(await on('quick'))).toMatchObject(failed('50 ms'));
    gate.open();
  });

  it.each([
    ['with the tools of the agent', {}],
    ['where it names the tool itself', { tools: ['look_up', 'send'] }],
    ['where it names all tools', { tools: ['*'] }],
  ])('leaves the external tools of the agent to clients, %s', async (how, own) => {
    const { owner, member } = stage.people;
    const slug = `hand-${how.length}`;
    const hand = { name: slug, slug, instructions: `Be ${slug}.`, tools: ['look*', 'send'], externalTools: ['se*'] };
    await stage.engine.app.get(AgentsService).create(owner, { ...hand, model: 'm' });
    const order = { id: `call_${slug}`, name: 'send', arguments: '{"to":"a"}' };
    stage.script(`Be ${slug}.`, toolCallReply([order]), textReply(['It is sent.']));
    const jobId = await stage.run({ a: { type: 'agent', agent: slug, ...own } }, edges);
    expect(await stage.waits(jobId)).toMatchObject([{ kind: 'client_tool', tool: 'send', nodeId: 'a' }]);
    const clients = stage.engine.app.get(ClientToolsService);
    const callId = order.id;
    const { claimToken } = await clients.claim(member, jobId, { callId, deviceId: 'a laptop' });
    await clients.validate(member, jobId, { callId, claimToken });
    await clients.submit(member, jobId, { callId, claimToken, result: 'sent by hand' });
    expect(await stage.ended(jobId)).toMatchObject({
      ...{ content: 'It is sent.', calls: [{ name: 'send', status: 'completed', result: 'sent by hand' }] },
    });
    expect(stage.ran.filter(([tool]) => tool === 'send')).toEqual([]);
  });

  it('offers no external tools without a client', async () => {
    const { owner } = stage.people;
    const alone = { name: 'Alone', model: 'm', instructions: 'Be alone.', tools: ['*'], externalTools: ['send'] };
    await stage.engine.app.get(AgentsService).create(owner, alone);
    stage.script('Be alone.', textReply(['Nothing to send with.']));
    const workflowRef = await stage.publish({ a: { type: 'agent', agent: 'alone' } }, edges);
    const start = { workflowRef, prompt: 'Hello', idempotency: null };
    const { jobId } = await stage.engine.app.get(StartWorkflowService).startUnattended(owner.workspaceId, start);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    const [request] = stage.requests('Be alone.').map(({ json }) => JSON.stringify(json['tools']));
    expect(request).toContain('look_up');
    expect(request).not.toContain('send');
  });

  it('uses the agent version of the start of its job', async () => {
    const { owner } = stage.people;
    const agents = stage.engine.app.get(AgentsService);
    const made = await agents.create(owner, { name: 'Old', model: 'm', instructions: 'Be old.' });
    stage.script('Be old.', textReply(['As ever.']));
    const approval = { type: 'approval', prompt: 'Continue?' };
    const jobId = await stage.run({ q: approval, a: { type: 'agent', agent: 'old' } }, ['start -> q', 'q -> a']);
    const [question] = await stage.waits(jobId);
    await agents.update(owner, { ref: made.id, changes: { instructions: 'Be new.' }, expectedVersion: null });
    await agents.archive(owner, made.id);
    await stage.answer(question, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'As ever.' });
  });

  it('fails, also in a subflow, when its agent was removed', async () => {
    const { owner } = stage.people;
    const agents = stage.engine.app.get(AgentsService);
    await agents.create(owner, { name: 'Guard', model: 'm', instructions: 'Be a guard.' });
    const inner = await stage.publish({ a: { type: 'agent', agent: 'guard' } }, edges);
    const using = (subflowId: string) => ({ s: { type: 'subflow', subflowId, inputMappings: { input: '{{input}}' } } });
    const outer = await stage.publish(using(inner), ['start -> s']);
    const workflow = await publish(stage.engine, owner, sketch(using(outer), ['start -> s'], { name: 'Outermost' }));
    await agents.archive(owner, 'guard');
    await expect(startWorkflow(stage.engine, owner, { workflow, prompt: 'Hello' })).rejects.toMatchObject({
      code: 'workflow_invalid',
      details: { issues: [{ code: 'AGENT_NOT_FOUND', nodeId: 's', path: '/nodes/1/data/subflowId' }] },
    });
  });

  it('rejects the definition with an unknown agent', async () => {
    const definition = sketch({ a: { type: 'agent', agent: 'unknown' } }, edges, { name: 'Unknown' });
    const saved = stage.engine.app
      .get(WorkflowsService)
      .save(stage.people.owner, { id: null, definition, expectedVersion: null });
    await expect(saved).rejects.toMatchObject({
      code: 'workflow_invalid',
      details: { issues: [{ code: 'AGENT_NOT_FOUND', nodeId: 'a', path: '/nodes/1/data/agent' }] },
    });
  });
});

describe('agent node with a waiting call', () => {
  beforeAll(async () => {
    stage.ran.length = 0;
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
  });

  const call = (name: string, args = '{"to":"Bob"}') => toolCallReply([{ id: `c_${name}`, name, arguments: args }]);

  it('continues with an approved call without another model request', async () => {
    stage.script('Mail.', call('send'), textReply(['Sent.']));
    const jobId = await stage.run({ mail: agent('Mail.', { tools: ['send'] }) }, ['start -> mail']);
    const asked = (await stage.waitsAt(jobId)).get('mail');
    expect(asked).toMatchObject({ kind: 'tool_approval', tool: 'send', nodeId: 'mail' });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', mail: 'waiting' });
    await stage.answer(asked, { decision: 'approve', argumentsHash: asked?.request['argumentsHash'] });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Sent.' });
    expect(stage.requests('Mail.')).toHaveLength(2);
    expect(stage.ran).toEqual([['send', { to: 'Bob' }]]);
    expect(stage.asked('Mail.').at(-1)).toContainEqual({ role: 'tool', tool_call_id: 'c_send', content: 'send done' });
  });

  it('reads that a call was denied and continues', async () => {
    stage.script('Mail too.', call('send'), textReply(['Not sent.']));
    const jobId = await stage.run({ mail: agent('Mail too.', { tools: ['send'] }) }, ['start -> mail']);
    const asked = (await stage.waitsAt(jobId)).get('mail');
    await stage.answer(asked, { decision: 'deny', argumentsHash: asked?.request['argumentsHash'] });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Not sent.' });
    expect(await stage.rows('SELECT status FROM tool_call WHERE job_id = $1', [jobId])).toEqual([{ status: 'denied' }]);
  });

  it('asks a person for more iterations with onMaxToolIterations: hitl', async () => {
    stage.script('Search.', call('look_up'), call('look_up'));
    const data = { tools: ['look_up'], maxToolIterations: 1, onMaxToolIterations: 'hitl' };
    const jobId = await stage.run({ find: agent('Search.', data) }, ['start -> find']);
    const asked = (await stage.waitsAt(jobId)).get('find');
    expect(asked?.request).toMatchObject({ id: expect.stringMatching(/^hitl-tool-limit-find-\d+$/), mode: 'approval' });
    await stage.answer(asked, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({
      status: 'completed',
      content: 'Warning: Maximum tool iterations (1) reached again after HITL approval. Last content: ',
    });
  });
});

describe('external calls of agent nodes', () => {
  /** A call of the isolated tool at work. */
  interface Digging {
    readonly context: ToolContext;
    readonly finish: (result: unknown) => void;
  }

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

  it('wait for the tool queue without a worker slot, and continue with the result', async () => {
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

  it('take the result of the tool queue while another node works', async () => {
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
    const { rows } = await database.postgres.workerPool.query(
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
