import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { AgentsService } from '#chat';
import { JobQueue } from '#jobs';
import { OpenStreams } from '#platform/api';
import { WorkflowsService } from '#workflows';

import type { Reply, TestMember } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import {
  clerksTools,
  echo,
  errorOf,
  executedJob,
  type ExecuteStage,
  openExecuteStage,
  withKey,
} from '../harness/execute-stage.js';
import { scriptedCall, waitingFor } from '../harness/rest-client.js';
import { restJobs } from '../harness/rest-jobs.js';
import { publish, sketch } from '../harness/workflows.js';

let stage: ExecuteStage;

beforeAll(async () => {
  stage = await openExecuteStage();
});
beforeEach(async () => {
  await stage.reset();
});
afterAll(async () => {
  await stage.close();
});

describe('POST /v1/tools/execute', () => {
  it('returns the result of a tool as text', async () => {
    const reply = await stage.execute(echo());
    expect([reply.status, reply.body]).toEqual([
      200,
      { tool_call_id: expect.stringMatching(/^call_[0-9a-f]{24}$/), result: 'hi' },
    ]);
    expect(executedJob(reply)).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('returns JSON when the tool returned JSON', async () => {
    const { body } = await stage.execute({ agent: 'Clerk', tool_name: 'json', arguments: '{"text":"hi"}' });
    expect(body).toMatchObject({ result: { echoed: 'hi', n: [1, 2] } });
  });

  it('runs as a job with one call and no model request', async () => {
    const reply = await stage.execute(echo());
    const {
      status,
      tool_calls,
      threadId,
      model: asked,
    } = await restJobs(stage.test, stage.people.owner.key).ended(executedJob(reply));
    expect({ status, threadId, asked }).toEqual({ status: 'complete', threadId: null, asked: '' });
    expect(tool_calls).toMatchObject([{ name: 'echo', status: 'complete', args: '{"text":"hi"}' }]);
    expect(stage.called).toEqual([expect.stringContaining(executedJob(reply))]);
    expect(stage.model.requests).toEqual([]);
  });

  it('returns the whole of a result that is larger than a ledger row', async () => {
    const { body } = await stage.execute(echo({ tool_name: 'long', arguments: { text: 'ü' } }));
    expect(body).toMatchObject({ result: { long: 'ü'.repeat(300_000) } });
  });

  it('waits while the tool runs', async () => {
    const reply = stage.execute(echo({ tool_name: 'slow' }));
    await eventually('the tool runs', () => (stage.called.length === 1 ? true : undefined));
    stage.gate.open();
    expect((await reply).body).toMatchObject({ result: 'slow hi' });
  });

  it('runs once per idempotency key for repeated requests', async () => {
    const [first, second] = await Promise.all([
      stage.execute(echo({ tool_name: 'slow' }), withKey('same')),
      eventually('the tool runs', () => (stage.called.length === 1 ? true : undefined)).then(() => {
        stage.gate.open();
        return stage.execute(echo({ tool_name: 'slow' }), withKey('same'));
      }),
    ]);
    expect(second.body).toEqual(first.body);
    expect(executedJob(second)).toBe(executedJob(first));
    expect((await stage.execute(echo({ tool_name: 'slow' }), withKey('same'))).body).toEqual(first.body);
    expect(stage.called).toHaveLength(1);
    const other = await stage.execute(echo(), withKey('same'));
    expect([other.status, errorOf(other)]).toMatchObject([
      422,
      { message: 'Idempotency-Key was used with a different request body', param: 'idempotency-key' },
    ]);
  });

  it('recovers a call of a lost worker by the effect of its tool', async () => {
    const reply = stage.execute(echo({ tool_name: 'lost' }));
    await eventually('the tool runs', () => (stage.called.length === 1 ? true : undefined));
    const { workspaceId } = stage.people.owner.principal;
    const { rows } = await stage.database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query<{ id: string }>(
        `UPDATE job SET lease_epoch = lease_epoch + 1, lease_until = clock_timestamp() - interval '1 s'
          WHERE status = 'running' AND workspace_id = $1 RETURNING id`,
        [workspaceId],
      ),
    );
    stage.test.api.app.get(JobQueue).hint({ workspaceId, jobId: rows[0]?.id ?? '', kind: 'chat' });
    expect(errorOf(await reply)).toMatchObject({ message: 'Tool execution failed: outcome unknown' });
    expect(stage.called).toHaveLength(1);
  });
});

describe('rejected POST /v1/tools/execute', () => {
  interface Refusal {
    readonly body: object;
    readonly status: number;
    readonly message: string;
    readonly param: string | null;
    readonly code?: string;
  }

  it.each<Refusal>([
    {
      body: { agent: 3 },
      ...{ status: 400, message: 'Invalid request body: agent: must be a text', param: 'arguments' },
    },
    {
      body: echo({ arguments: 7 }),
      ...{ status: 400, message: 'Invalid request body: arguments: must be an object or a text', param: 'arguments' },
    },
    {
      body: echo({ arguments: {} }),
      ...{ status: 400, message: 'Invalid arguments: Missing required parameters: text', param: 'arguments' },
    },
    {
      body: echo({ arguments: 'no' }),
      ...{ status: 400, message: 'Invalid arguments: arguments are not valid JSON', param: 'arguments' },
    },
    {
      body: echo({ agent: 'unknown' }),
      ...{ status: 404, message: "Agent 'unknown' not found", param: 'agent', code: 'model_not_found' },
    },
    {
      body: echo({ tool_name: 'elsewhere' }),
      ...{
        status: 404,
        message: `Tool 'elsewhere' not found on agent 'clerk'. Available: ${clerksTools}`,
        param: 'tool_name',
      },
    },
    {
      body: echo({ tool_call_id: 'call_1' }),
      ...{ status: 404, message: "Tool call 'call_1' not found", param: 'tool_call_id' },
    },
    {
      body: echo({ tool_name: 'ask_person', arguments: { question: 'Well?' } }),
      ...{ status: 403, message: "Tool 'ask_person' needs approval and cannot be executed here" },
      ...{ param: 'tool_name', code: 'approval_required' },
    },
    { body: echo({ tool_name: 'fail' }), status: 500, message: 'Tool execution failed: no hi here', param: null },
    {
      body: echo({ tool_name: 'late' }),
      ...{ status: 500, message: 'Tool execution failed: timed out after 30ms', param: null },
    },
  ])('returns $status $message', async ({ body, status, message, param, code = null }) => {
    const reply = await stage.execute(body);
    const type = status === 500 ? 'server_error' : 'invalid_request_error';
    expect([reply.status, reply.body]).toEqual([status, { error: { message, type, param, code } }]);
    expect(executedJob(reply) !== '').toBe(status === 500);
  });

  it('names the invalid argument', async () => {
    const reply = await stage.execute(echo({ arguments: { text: 1 } }));
    expect(errorOf(reply)).toMatchObject({ message: expect.stringContaining('text'), param: 'arguments' });
    expect(stage.called).toEqual([]);
  });

  it('hides tools that the policy blocks, and opens no approval', async () => {
    await stage.policy([
      { match: 'forbidden', action: 'block' },
      { match: 'echo', action: 'require_approval' },
    ]);
    const blocked = await stage.execute(echo({ tool_name: 'forbidden' }));
    const others = clerksTools.replace('forbidden, ', '');
    expect(errorOf(blocked)).toMatchObject({
      message: `Tool 'forbidden' not found on agent 'clerk'. Available: ${others}`,
    });
    const asking = await stage.execute(echo());
    expect([asking.status, errorOf(asking)]).toMatchObject([403, { code: 'approval_required', param: 'tool_name' }]);
    expect(stage.called).toEqual([]);
  });

  it('applies the approval rules of the agent and rules that name it', async () => {
    const toolApproval = { rules: [{ match: 'echo', action: 'require_approval' }] };
    const agents = stage.test.api.app.get(AgentsService);
    await agents.create(stage.people.owner.principal, { name: 'Careful', tools: ['echo'], toolApproval });
    expect((await stage.execute(echo({ agent: 'careful' }))).status).toBe(403);
    await stage.policy([{ match: 'echo', when: 'agent == "Clerk"', action: 'require_approval' }]);
    expect((await stage.execute(echo())).status).toBe(403);
    expect(stage.called).toEqual([]);
  });

  it('finds only agents of its own workspace', async () => {
    await stage.test.api.app
      .get(AgentsService)
      .create(stage.people.stranger.principal, { name: 'Hidden', tools: ['*'] });
    expect(errorOf(await stage.execute(echo({ agent: 'hidden' })))).toMatchObject({
      message: "Agent 'hidden' not found",
    });
  });
});

describe('POST /v1/tools/execute for a pending client call', () => {
  /** Gives its id. */
  async function pending(id: string, who: TestMember = stage.people.owner): Promise<string> {
    const jobs = restJobs(stage.test, who.key);
    await waitingFor({ jobs, model: stage.model }, [id], { _toolRuntime: { open_file: 'client' } });
    return id;
  }

  const openFile = (id: string, change: object = {}) => ({
    ...{ agent: 'clerk', tool_name: 'open_file', arguments: scriptedCall(id).arguments, tool_call_id: id },
    ...change,
  });

  it('runs the call once on the server while it stays pending', async () => {
    const id = await pending('call_once');
    const reply = await stage.execute(openFile(id), withKey('once'));
    expect([reply.status, reply.body]).toEqual([200, { tool_call_id: id, result: 'file /call_once' }]);
    expect((await stage.execute(openFile(id), withKey('once'))).body).toEqual(reply.body);
    for (const again of [await stage.execute(openFile(id)), await stage.execute(openFile(id), withKey('another'))])
      expect([again.status, errorOf(again)]).toMatchObject([
        409,
        { message: 'Tool call was already executed', param: 'tool_call_id' },
      ]);
    expect(stage.called).toHaveLength(1);
  });

  it('runs the call once for many concurrent requests', async () => {
    const id = await pending('call_race');
    const replies = await Promise.all(Array.from({ length: 8 }, () => stage.execute(openFile(id))));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
    expect(stage.called).toHaveLength(1);
  });

  it('rejects a tool or arguments that differ from the pending call', async () => {
    const id = await pending('call_same');
    for (const change of [{ arguments: { path: '/other' } }, { tool_name: 'echo', arguments: { text: 'hi' } }]) {
      const reply = await stage.execute(openFile(id, change));
      expect([reply.status, errorOf(reply)]).toMatchObject([
        400,
        { message: 'Tool call does not match the pending call', param: 'tool_call_id' },
      ]);
    }
    expect(stage.called).toEqual([]);
  });

  it('rejects callers other than the requester', async () => {
    const id = await pending('call_mine');
    for (const { key } of [stage.people.admin, stage.people.stranger]) {
      const reply = await stage.execute(openFile(id), { key });
      expect(errorOf(reply)).toMatchObject({ message: "Tool call 'call_mine' not found", param: 'tool_call_id' });
    }
    expect(stage.called).toEqual([]);
  });
});

const slow = echo({ tool_name: 'slow' });
const cancels = { headers: { 'x-on-disconnect': 'cancel' } };
const openStreams = () => stage.test.api.app.get(OpenStreams).size;
const runs = () => eventually('the tool runs', () => (stage.called.length === 1 ? true : undefined));

async function isStopped(jobId: string): Promise<boolean> {
  const { rows } = await stage.database.postgres.workerPool.query<{ stopped: boolean }>(
    'SELECT cancel_requested_at IS NOT NULL AS stopped FROM job WHERE id = $1',
    [jobId],
  );
  return rows[0]?.stopped ?? true;
}

it('POST /v1/tools/execute takes a stream slot of its key while it waits', async () => {
  const reply = stage.execute(slow);
  await runs();
  expect(openStreams()).toBe(1);
  stage.gate.open();
  expect((await reply).status).toBe(200);
  expect(openStreams()).toBe(0);
});

it('POST /v1/tools/execute returns 401 to a revoked key and keeps the job running', async () => {
  const { auth, people } = stage.test;
  const { key, keyId } = await people.keyOf(stage.people.owner.principal, ['read', 'write']);
  const reply = stage.execute(slow, { key, ...cancels });
  await runs();
  await auth.apiKeys.revoke(stage.people.owner.principal, keyId);
  const response = await reply;
  expect([response.status, errorOf(response)]).toMatchObject([401, { code: 'invalid_api_key' }]);
  expect(await isStopped(executedJob(response))).toBe(false);
  stage.gate.open();
});

it('POST /v1/tools/execute returns 503 with Retry-After when the server stops, and cancels nothing', async () => {
  const reply = stage.execute(slow, cancels);
  await runs();
  const closed = stage.test.api.close();
  const response = await reply;
  expect([response.status, errorOf(response)]).toMatchObject([503, { code: 'server_busy' }]);
  expect(response.headers.get('retry-after')).toBe('5');
  stage.gate.open();
  await closed;
  expect(await isStopped(executedJob(response))).toBe(false);
});

describe('open requests:', () => {
  let stage: ExecuteStage;

  beforeAll(async () => {
    stage = await openExecuteStage();
    const { app } = stage.test.api;
    const { principal } = stage.people.owner;
    const nodes = { a: { type: 'approval', prompt: 'Well?' }, b: { type: 'approval', prompt: 'Sure?' } };
    const graphs = [
      sketch({ a: nodes.a }, ['start -> a'], { name: 'once' }),
      sketch(nodes, ['start -> a', 'a -> b'], { name: 'twice' }),
    ];
    for (const graph of graphs) {
      const { id } = await publish({ app }, principal, graph);
      await app.get(WorkflowsService).offerAsTool(principal, id, true);
    }
    await app.get(AgentsService).create(principal, { name: 'Editor', tools: ['workflow.*'] });
  });
  afterAll(async () => {
    await stage.close();
  });

  const asks = (name: string) => ({ agent: 'editor', tool_name: `workflow.${name}`, arguments: { input: 'Hello' } });
  const answer = (id: string) =>
    stage.test.call('POST', `/api/interrupts/${id}/decision`, {
      key: stage.people.owner.key,
      body: { action: 'approve' },
    });

  /** Gives the open request that a response names. */
  function waitingFor(reply: Reply): string {
    expect([reply.status, errorOf(reply)]).toEqual([
      504,
      {
        message: 'The job is still running in the background',
        type: 'server_error',
        param: null,
        code: 'still_running',
      },
    ]);
    expect(reply.headers.get('x-should-retry')).toBe('false');
    return reply.headers.get('x-waiting-approval') ?? '';
  }

  it('POST /v1/tools/execute names the open request of a workflow at once, and its job keeps running', async () => {
    const reply = await stage.execute(asks('once'));
    const id = waitingFor(reply);
    const { body } = await stage.test.call('GET', `/api/interrupts/${id}`, { key: stage.people.owner.key });
    expect(body).toMatchObject({ status: 'open', kind: 'human_input', rootJobId: executedJob(reply) });
    expect((await answer(id)).status).toBe(200);
    const jobs = restJobs(stage.test, stage.people.owner.key);
    await eventually('the job has its result', async () => {
      const { status } = await jobs.status(executedJob(reply));
      return status === 'complete' ? status : undefined;
    });
  });

  it('POST /v1/tools/execute waits while only requests are open that the caller knows', async () => {
    const key = { 'idempotency-key': 'twice' };
    const again = (known?: string) =>
      stage.execute(asks('twice'), {
        headers: { ...key, ...(known !== undefined && { 'x-waiting-approval': known }) },
      });
    const held = async (known: string) => {
      const reply = again(known);
      await eventually('it is held', () => (stage.test.api.app.get(OpenStreams).size === 1 ? true : undefined));
      return { reply };
    };

    const first = await again();
    const known = waitingFor(first);
    expect(waitingFor(await again())).toBe(known);
    const second = await held(known);
    await answer(known);
    const next = waitingFor(await second.reply);
    expect(next).not.toBe(known);
    const third = await held(`${known}, ${next}`);
    await answer(next);
    const done = await third.reply;
    expect([done.status, executedJob(done)]).toEqual([200, executedJob(first)]);
    expect(done.headers.get('x-waiting-approval')).toBeNull();
    expect((await again()).body).toEqual(done.body);
  });
});
