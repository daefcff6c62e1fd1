import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { AgentsService } from '#chat';
import { JobQueue } from '#jobs';

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
import { restJobs } from '../harness/rest-jobs.js';

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
    stage.test.api.app.get(JobQueue).hintWithoutMessage({ workspaceId, jobId: rows[0]?.id ?? '', kind: 'chat' });
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
