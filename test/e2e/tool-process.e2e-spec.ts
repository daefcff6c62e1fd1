import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ApprovalPoliciesService, InterruptsService } from '#approvals';
import type { MemberPrincipal } from '#auth';
import { ChatService } from '#chat';
import { type Interrupt, JobStopper, SnapshotRepository } from '#jobs';
import { toolsKeyOf } from '#platform';
import { defineTool, type ToolContext, ToolRegistry } from '#tools';

import { chat } from '../chaos/chat.js';
import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { type HttpTarget, startHttpTarget } from '../harness/http-target.js';
import { McpApiFixture } from '../harness/mcp-api-fixture.js';
import { type NightshiftProcess, runToEnd, startProcess, withoutLogin } from '../harness/processes.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { openTestToolQueue, type TestToolQueue } from '../harness/tool-queue.js';

describe('tool worker process', () => {
  let database: TestDatabase;
  let queue: TestToolQueue;
  const running: NightshiftProcess[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    queue = await openTestToolQueue(database);
  });

  afterEach(async () => {
    for (const process of running.splice(0)) await process.stop();
  });

  afterAll(async () => {
    await queue.close();
    await database.close();
  });

  const start = async (role: 'tools' | 'worker', env: Readonly<Record<string, string>> = {}) => {
    const databaseUrl = database.urls.owner;
    const process = await startProcess({ role, databaseUrl, secret: TEST_SECRET, env });
    running.push(process);
    return process;
  };

  it.each([
    ['tools', {}],
    ['worker', { WORKER_QUEUES: 'tool-execution' }],
  ] as const)('as role %s with %j runs calls, claims no jobs and ends on its signal', async (role, env) => {
    const started = await start(role, { ...env, WORKER_PORT: await freePort() });
    const health = started.healthUrl ?? '';
    expect((await fetch(`${health}/readyz`)).status).toBe(200);
    const call = await queue.sendOne('vanished');
    // The response stays in the queue until a worker reads it.
    await eventually('it has answered', async () => {
      const rows = await queue.rows(
        `SELECT 1 FROM pgboss.job WHERE name = 'tool-results' AND data->>'status' = 'error'`,
      );
      return rows.length > 0 ? true : undefined;
    });
    // What it has answered it counts a moment later.
    const metrics = await eventually('it has counted its answer', async () => {
      const text = await (await fetch(`${health}/metrics`)).text();
      return text.includes('nightshift_tool_queue_answers_total{status="error"} 1') ? text : undefined;
    });
    expect(metrics).toContain('tool_queue_depth 0');
    expect(await queue.jobOf(call)).toMatchObject({ status: 'waiting' });
    expect(await started.stop()).toEqual({ code: 0, signal: null });
    expect(started.output()).not.toContain('Still open');
    await queue.rows(`DELETE FROM pgboss.job WHERE name = 'tool-results'`);
  });
});

describe('role tools with its own key and login', () => {
  const canary = 'canary-0123456789';

  const SET_SECRET = `mutation($value: String!) { setWorkspaceSecret(input: { name: "TOKEN", value: $value }) { userErrors { code } } }`;

  const REGISTER = `mutation($definition: JSON!) { registerTool(input: { definition: $definition }) { userErrors { code message } } }`;

  const JOB = `query($id: ID!) { job(id: $id) { status content toolCalls { name status result error { message } } } }`;

  const given = new McpApiFixture({ BUS: 'postgres', WORKER_QUEUES: 'jobs' });
  let target: HttpTarget;
  let tools: NightshiftProcess;

  beforeAll(async () => {
    target = await startHttpTarget((_, response) =>
      response.setHeader('content-type', 'application/json').end('{"name": "Ada"}'),
    );
    tools = await startProcess({
      role: 'tools',
      databaseUrl: given.database.urls.owner,
      secret: TEST_SECRET,
      env: { ALLOW_PRIVATE_TOOL_URLS: 'true' },
    });
  });

  afterAll(async () => {
    await tools.stop();
    await target.close();
  });

  const run = async (user: GraphqlMember, name: string, args: object) => {
    given.model.enqueue(toolCallReply([{ id: 'call_1', name, arguments: JSON.stringify(args) }]), textReply(['Done.']));
    const { jobId } = await user.run({ message: 'Go', tools: [name] });
    const { job } = await user.query(JOB, { id: jobId });
    return job;
  };

  it('calls an HTTP tool with a secret of its workspace and settles the call', async () => {
    await given.admin.query(SET_SECRET, { value: canary });
    const definition = {
      name: 'get_user',
      description: 'Finds a user.',
      parameters: { type: 'object', properties: {} },
      method: 'GET',
      url: `${target.url}/user`,
      headers: [{ name: 'Authorization', value: 'Bearer {{secret:TOKEN}}' }],
      result: '$.name',
      isolation: 'queue',
    };
    expect(await given.admin.query(REGISTER, { definition })).toMatchObject({ registerTool: { userErrors: [] } });
    const user = graphqlMember(given.api, given.people.member.key);
    expect(await run(user, 'get_user', {})).toMatchObject({
      status: 'COMPLETED',
      content: 'Done.',
      toolCalls: [{ name: 'get_user', status: 'COMPLETED', result: 'Ada' }],
    });
    expect(target.requests.at(-1)?.headers['authorization']).toBe(`Bearer ${canary}`);
    // The process writes its line before it responds; the pipe between the processes may deliver it later.
    const line = await eventually('the process has logged the call', () =>
      tools
        .output()
        .split('\n')
        .find((each) => each.includes('"background_tool_execution_completed"')),
    );
    const id = expect.any(String);
    const ids = { workspace_id: given.people.owner.principal.workspaceId, job_id: id, call_id: 'call_1' };
    expect(JSON.parse(line)).toMatchObject({ ...ids, tool_name: 'http', duration_ms: expect.any(Number) });
    expect(line).not.toContain(canary);
    expect(tools.output()).not.toContain('permission denied');
  });

  it('calls an MCP tool of a workspace', async () => {
    await given.register({ accept: { all: true }, calls: { isolated: true } });
    const user = graphqlMember(given.api, given.people.member.key);
    expect(await run(user, 'test.echo', { text: 'hi' })).toMatchObject({
      toolCalls: [{ status: 'COMPLETED', result: 'hi' }],
    });
  });

  it('refuses an MCP tool whose definition has changed, and writes the change to its server', async () => {
    await given.register({ accept: { all: true }, calls: { isolated: true } });
    // Without a notification: the process lists the tools when it connects for the call.
    given.server.describe('echo', 'Something else.', false);
    const user = graphqlMember(given.api, given.people.member.key);
    expect(await run(user, 'test.echo', { text: 'hi' })).toMatchObject({ toolCalls: [{ status: 'ERROR' }] });
    const { rows } = await given.database.postgres.withWorkspaceSql(
      given.people.owner.principal.workspaceId,
      (client) => client.query(`SELECT name FROM mcp_tool WHERE accepted_hash <> hash`),
    );
    expect(rows).toEqual([{ name: 'echo' }]);
    expect(tools.output()).not.toContain('permission denied');
  });

  it('runs every server tool of a workspace whose toolIsolation is QUEUE, and shows the mode in its settings', async () => {
    const user = graphqlMember(given.api, given.people.member.key);
    const ran = async () => {
      const [call] = (
        await given.database.postgres.withWorkspaceSql(given.people.owner.principal.workspaceId, (client) =>
          client.query<{ executor: string; byProcess: boolean }>(
            `SELECT executor, exec_owner IS NOT NULL AS "byProcess" FROM tool_call ORDER BY created_at DESC LIMIT 1`,
          ),
        )
      ).rows;
      return call;
    };
    const sum = { toolCalls: [{ status: 'COMPLETED', result: '3' }] };
    expect(await run(user, 'add_numbers', { a: 1, b: 2 })).toMatchObject(sum);
    expect(await ran()).toEqual({ executor: 'worker', byProcess: false });
    const update = `mutation { updateWorkspace(input: { toolIsolation: QUEUE }) {
      workspace { toolIsolation isolatesAllTools hasToolProcess } userErrors { code } } }`;
    expect(await given.admin.query(update)).toMatchObject({
      updateWorkspace: { workspace: { toolIsolation: 'QUEUE', hasToolProcess: true }, userErrors: [] },
    });
    await eventually('the mode applies', async () => {
      const { workspace } = await given.admin.query('{ workspace { isolatesAllTools } }');
      return (workspace as { isolatesAllTools: boolean }).isolatesAllTools ? true : undefined;
    });
    expect(await run(user, 'add_numbers', { a: 1, b: 2 })).toMatchObject(sum);
    expect(await ran()).toEqual({ executor: 'queue', byProcess: true });
    // Reads tables that the login of a tool process does not see.
    expect(await run(user, 'read_tool_output', { call_id: 'none' })).toMatchObject({
      toolCalls: [{ status: 'ERROR', error: { message: expect.stringContaining('no result of a call') } }],
    });
    expect(await ran()).toMatchObject({ executor: 'worker' });
  });

  it.each([
    ['without its key', { NIGHTSHIFT_TOOLS_KEY: '' }, 'Role tools needs NIGHTSHIFT_TOOLS_KEY'],
    ['with the root secret', { NIGHTSHIFT_SECRET: TEST_SECRET }, 'Role tools must run without NIGHTSHIFT_SECRET'],
    ['without a database', { DATABASE_URL: '' }, 'set DATABASE_URL'],
    ['with jobs to run', { WORKER_QUEUES: 'jobs,tool-execution' }, 'Role tools runs no jobs'],
    ['with the login of another role', { DATABASE_URL: 'postgres://owner:word@127.0.0.1:1/x' }, 'remove the login'],
  ])('refuses to start %s and prints the reason as a sentence', async (_, env, sentence) => {
    const usual = {
      NIGHTSHIFT_TOOLS_KEY: toolsKeyOf(TEST_SECRET),
      DATABASE_URL: withoutLogin(given.database.urls.owner),
    };
    const { code, stderr } = await runToEnd(['--role', 'tools'], { ...usual, ...env });
    expect(code).toBe(1);
    expect(
      stderr
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('{')),
    ).toEqual([expect.stringContaining(sentence)]);
  });
});

describe('job with an isolated tool in one process', () => {
  /** A call of the isolated tool at work. */
  interface Digging {
    readonly args: Readonly<Record<string, unknown>>;
    readonly context: ToolContext;
    readonly finish: (result: unknown) => void;
  }

  const call = (name: string, args: object, id = `call_${name}`) => ({ id, name, arguments: JSON.stringify(args) });

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
      await database.postgres.workerPool.query<{ type: string; body: Record<string, unknown> }>(
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
      await database.postgres.workerPool.query<{ id: string }>('SELECT id FROM tool_call WHERE job_id = $1', [jobId])
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
