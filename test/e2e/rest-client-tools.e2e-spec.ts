import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';
import { defineTool, type ToolContext, ToolRegistry } from '#tools';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { advertised, restClient, scriptedCall, tokenOf, waitingFor, waits } from '../harness/rest-client.js';
import { chatBody, jobIdOf, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textReply, toolCallReply } from '../harness/scripted-reply.js';

let database: TestDatabase;
let model: ScriptedModel;
let test: TestApi;
let people: Record<Role, TestMember>;
let jobs: RestJobs;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  test = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  people = await test.people.workspaceOf('acme');
  jobs = restJobs(test, people.member.key);
});

afterEach(() => {
  model.assertDone();
});

afterAll(async () => {
  await test.close();
  await model.close();
  await database.close();
});

describe('client tool call over REST', () => {
  function lastMessages(): readonly Record<string, unknown>[] {
    return model.requests.at(-1)?.json['messages'] as Record<string, unknown>[]; // chat completions have them
  }

  it('appears in the stream, is claimed by one of two devices, and its result reaches the model', async () => {
    const jobId = await waitingFor({ jobs, model }, ['c1'], { _threadId: 'thread-1', _messageId: 'message-1' });
    const stream = await jobs.watch(jobId);
    const { data } = await stream.until(({ event }) => event === 'snapshot');
    expect(data['interrupts']).toEqual([
      expect.objectContaining({
        kind: 'client_tool',
        request: expect.objectContaining({ tool: 'open_file', callId: 'c1', arguments: '{"path":"/c1"}' }),
      }),
    ]);
    const devices = ['laptop', 'phone'].map((device) => restClient(test, people.member.key, device));
    const claims = await Promise.all(devices.map((device) => device.claim(jobId, 'c1')));
    expect(claims.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(claims.find(({ status }) => status === 409)?.body).toEqual({
      error: 'Tool call already claimed',
      code: 'already_claimed',
      retryable: false,
      callStatus: 'awaiting_client',
      requestId: expect.any(String),
    });
    const won = claims.findIndex(({ status }) => status === 200);
    const [winner, claim] = [devices[won], claims[won]];
    if (winner === undefined || claim === undefined) throw new Error('no device has claimed the call');
    const claimToken = tokenOf(claim);
    expect(claim.body).toMatchObject({
      call: { id: 'c1', name: 'open_file', arguments: '{"path":"/c1"}', definition: advertised('open_file') },
      context: { workspaceId: people.member.principal.workspaceId, threadId: 'thread-1', messageId: 'message-1' },
      expiresAt: expect.any(Number),
    });
    const validated = await winner.validate(jobId, 'c1', claimToken);
    expect([validated.status, validated.body]).toEqual([200, { valid: true, expiresAt: expect.any(Number) }]);
    expect((await jobs.status(jobId))['tool_calls']).toMatchObject([{ id: 'c1', status: 'loading' }]);
    model.enqueue(textReply(['The file contains hello.']));
    const taken = await winner.submit(jobId, { callId: 'c1', claimToken }, { result: 'hello' });
    expect([taken.status, taken.body]).toEqual([200, { accepted: true }]);
    expect(await jobs.ended(jobId)).toMatchObject({ status: 'complete', content: 'The file contains hello.' });
    expect(lastMessages().at(-1)).toEqual({ role: 'tool', tool_call_id: 'c1', content: 'hello' });
    expect(await stream.over).toBe(true);
    const kinds = stream.frames.map(({ event }) => event);
    expect(kinds.filter((kind) => kind === 'interrupt-resolved')).toHaveLength(1);
  });

  it('sends an error of the client to the model', async () => {
    const jobId = await waitingFor({ jobs, model }, ['c1']);
    const client = restClient(test, people.member.key, 'laptop');
    const claimToken = tokenOf(await client.claim(jobId, 'c1'));
    model.enqueue(textReply(['Sorry.']));
    await client.submit(jobId, { callId: 'c1', claimToken }, { error: 'no such file' });
    await jobs.ended(jobId);
    expect(lastMessages().at(-1)).toMatchObject({ content: 'Error executing tool "open_file": no such file' });
  });

  it('keeps its result while other calls of the round are pending', async () => {
    const jobId = await waitingFor({ jobs, model }, ['c1', 'c2', 'c3']);
    const client = restClient(test, people.member.key, 'laptop');
    await client.serve(jobId, 'c2', 'two');
    await client.serve(jobId, 'c1', 'one');
    expect(await jobs.status(jobId)).toMatchObject({
      job_status: 'waiting',
      tool_calls: [{ status: 'complete' }, { status: 'complete' }, { status: 'pending' }],
    });
    model.enqueue(textReply(['All read.']));
    await client.serve(jobId, 'c3', 'three');
    await jobs.ended(jobId);
    expect(lastMessages().slice(-3)).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: 'two' },
      { role: 'tool', tool_call_id: 'c3', content: 'three' },
    ]);
  });

  it('runs while a tool of the server runs in the same round', async () => {
    const add = { id: 's1', name: 'add_numbers', arguments: '{"a":1,"b":2}' };
    model.enqueue(toolCallReply([scriptedCall('c1'), add]));
    const server = { a: { type: 'number' }, b: { type: 'number' } };
    const parameters = { type: 'object', properties: server, required: ['a', 'b'] };
    const tools = [advertised('open_file'), { type: 'function', function: { name: 'add_numbers', parameters } }];
    const jobId = jobIdOf(await jobs.start(chatBody({ tools, _clientTools: true })));
    await waits(jobs, jobId);
    expect((await jobs.status(jobId))['tool_calls']).toMatchObject([{ status: 'pending' }, { id: 's1' }]);
    model.enqueue(textReply(['ok']));
    await restClient(test, people.member.key, 'laptop').serve(jobId, 'c1', 'one');
    expect(await jobs.ended(jobId)).toMatchObject({ status: 'complete' });
  });

  it('accepts claims only from the device of the request', async () => {
    const jobId = await waitingFor({ jobs, model }, ['c1'], { _clientTools: undefined, _clientDeviceId: 'laptop' });
    const refused = await restClient(test, people.member.key, 'phone').claim(jobId, 'c1');
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { error: 'Tool call belongs to another browser device', callStatus: 'awaiting_client' },
    ]);
    model.enqueue(textReply(['ok']));
    await restClient(test, people.member.key, 'laptop').serve(jobId, 'c1', 'done');
    await jobs.ended(jobId);
  });

  it('ends as skipped when the request has no client', async () => {
    model.enqueue(toolCallReply([scriptedCall('c1')]), textReply(['Never mind.']));
    const start = { tools: [advertised('open_file')], _toolRuntime: { open_file: 'client' } };
    const jobId = jobIdOf(await jobs.start(chatBody(start)));
    expect(await jobs.ended(jobId)).toMatchObject({
      content: 'Never mind.',
      tool_calls: [{ id: 'c1', status: 'skipped', error: 'Tool "open_file" is client-only.' }],
    });
  });

  it('ends with its job: a later result is rejected and changes nothing', async () => {
    const jobId = await waitingFor({ jobs, model }, ['c1']);
    const client = restClient(test, people.member.key, 'laptop');
    const claimToken = tokenOf(await client.claim(jobId, 'c1'));
    const stopped = await test.call('POST', `/api/jobs/${jobId}/abort`, { key: people.member.key });
    expect(stopped.body).toMatchObject({ aborted: true });
    const before = await jobs.status(jobId);
    const late = await client.submit(jobId, { callId: 'c1', claimToken }, { result: 'late' });
    expect([late.status, late.body]).toMatchObject([
      409,
      { error: 'Tool call is no longer pending', code: 'not_pending', callStatus: 'cancelled' },
    ]);
    expect(await client.validate(jobId, 'c1', claimToken)).toMatchObject({
      status: 409,
      body: { error: 'Tool approval expired or its reviewed payload changed' },
    });
    expect(await jobs.status(jobId)).toEqual(before);
  });

  describe('client tool call beside a slow server tool', () => {
    const input = { type: 'object' };
    let gate = createGate();

    beforeAll(() => {
      const execute = (_: unknown, { signal }: ToolContext) =>
        new Promise((resolve) => {
          void gate.opened.then(resolve);
          signal.addEventListener('abort', resolve, { once: true });
        });
      const hold = defineTool({ name: 'hold', description: 'Holds', effect: 'pure', input, execute });
      test.api.app.get(ToolRegistry).register(hold);
    });

    /** A job that runs `hold` and has left `c1` to a client, which has begun. */
    async function begun() {
      gate = createGate();
      model.enqueue(toolCallReply([scriptedCall('c1'), { id: 's1', name: 'hold', arguments: '{}' }]));
      const tools = [advertised('open_file'), { type: 'function', function: { name: 'hold', parameters: input } }];
      const jobId = jobIdOf(await jobs.start(chatBody({ tools, _clientTools: true })));
      const client = restClient(test, people.member.key, 'laptop');
      const claimed = await eventually('the call can be claimed', async () => {
        const reply = await client.claim(jobId, 'c1');
        return reply.status === 200 ? reply : undefined;
      });
      const claim = { callId: 'c1', claimToken: tokenOf(claimed) };
      expect((await client.validate(jobId, 'c1', claim.claimToken)).status).toBe(200);
      return { jobId, client, claim };
    }

    it('keeps its result until the round is complete', async () => {
      const { jobId, client, claim } = await begun();
      expect((await client.submit(jobId, claim, { result: 'one' })).status).toBe(200);
      expect(await jobs.status(jobId)).toMatchObject({
        job_status: 'running',
        tool_calls: [{ status: 'complete' }, {}],
      });
      model.enqueue(textReply(['ok']));
      gate.open();
      expect(await jobs.ended(jobId)).toMatchObject({ status: 'complete' });
      expect(lastMessages().slice(-2)).toMatchObject([{ content: 'one' }, { tool_call_id: 's1' }]);
    });

    it('ends with an unknown outcome when the job is cancelled after its claim', async () => {
      const { jobId } = await begun();
      await test.call('POST', `/api/jobs/${jobId}/abort`, { key: people.member.key });
      expect(await jobs.ended(jobId)).toMatchObject({
        job_status: 'cancelled',
        tool_calls: [
          { id: 'c1', error: 'The tool was started but its outcome is unknown. It was not repeated.' },
          { id: 's1', error: 'Tool execution cancelled' },
        ],
      });
    });
  });

  it('accepts the result of a claim made before every process restarted', async () => {
    const jobId = await waitingFor({ jobs, model }, ['c1']);
    const claimed = await restClient(test, people.member.key, 'laptop').claim(jobId, 'c1');
    await test.close();
    test = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
    jobs = restJobs(test, people.member.key);
    const client = restClient(test, people.member.key, 'laptop');
    const claim = { callId: 'c1', claimToken: tokenOf(claimed) };
    expect((await client.validate(jobId, 'c1', claim.claimToken)).status).toBe(200);
    model.enqueue(textReply(['Back again.']));
    expect((await client.submit(jobId, claim, { result: 'kept' })).status).toBe(200);
    expect(await jobs.ended(jobId)).toMatchObject({ content: 'Back again.' });
  });
});

describe('access to client tools over REST', () => {
  let foreign: TestMember;

  beforeAll(async () => {
    foreign = (await test.people.workspaceOf('other')).owner;
  });

  describe('REST client tool endpoints', () => {
    const steps = ['claim', 'validate', 'result'] as const;
    const body = { callId: 'c1', deviceId: 'd', claimToken: 't', result: 'r' };

    it('report that client tools are enabled', async () => {
      const reply = await test.call('GET', '/api/jobs/client-tool/capability', { key: people.viewer.key });
      expect([reply.status, reply.body]).toEqual([200, { available: true }]);
    });

    it.each(steps)('reject everyone but the requester of the job: %s', async (step) => {
      const jobId = await waitingFor({ jobs, model }, ['c1']);
      const knock = async (key: string, id = jobId) => {
        const reply = await test.call('POST', `/api/jobs/${id}/client-tool/${step}`, { key, body });
        return [reply.status, { ...(reply.body as object), requestId: '' }];
      };
      const forbidden = [403, { error: 'Forbidden', code: 'forbidden', retryable: false, requestId: '' }];
      for (const { key } of [people.viewer, people.admin, people.owner]) expect(await knock(key)).toEqual(forbidden);
      const absent = [
        404,
        { error: 'Job not found or unauthorized', code: 'not_found', retryable: false, requestId: '' },
      ];
      expect(await knock(foreign.key)).toEqual(absent);
      expect(await knock(people.member.key, '01890000-0000-7000-8000-000000000000')).toEqual(absent);
      expect((await test.call('POST', `/api/jobs/${jobId}/client-tool/${step}`, { body })).status).toBe(401);
      await test.call('POST', `/api/jobs/${jobId}/abort`, { key: people.member.key });
    });

    it.each(steps)('accept a cookie only from pages of their own origin: %s', async (step) => {
      const path = `/api/jobs/01890000-0000-7000-8000-000000000000/client-tool/${step}`;
      const reply = await test.call('POST', path, {
        body,
        headers: { cookie: 'session=1', origin: 'https://evil.example' },
      });
      expect([reply.status, reply.body]).toMatchObject([403, { error: 'Cross-origin request refused' }]);
      const own = { cookie: 'session=1', origin: new URL(test.url).origin, 'x-or3-tool-intent': step };
      expect((await test.call('POST', path, { body, headers: own })).status).toBe(401);
    });

    it.each([
      ['claim', undefined, 'Invalid tool claim'],
      ['claim', { callId: 'c1' }, 'Invalid tool claim'],
      ['claim', { callId: '', deviceId: 'd' }, 'Invalid tool claim'],
      ['claim', { callId: 'c1', deviceId: 'd'.repeat(257) }, 'Invalid tool claim'],
      ['validate', { callId: 'c1', claimToken: 1 }, 'Invalid tool claim'],
      ['result', { callId: 'c1', claimToken: 't' }, 'Invalid tool result'],
      ['result', { callId: 'c1', claimToken: 't', result: {} }, 'Invalid tool result'],
      ['result', { callId: 'c1', claimToken: 't', result: 'a', error: 'b' }, 'Invalid tool result'],
    ])('reject invalid input: %s %j', async (step, given, error) => {
      const path = `/api/jobs/01890000-0000-7000-8000-000000000000/client-tool/${step}`;
      const reply = await test.call('POST', path, {
        key: people.member.key,
        ...(given === undefined ? {} : { body: given }),
      });
      expect([reply.status, reply.body]).toMatchObject([400, { error, code: 'bad_request' }]);
    });

    it('reject a result over the limit and accept the largest one', async () => {
      const jobId = await waitingFor({ jobs, model }, ['c1']);
      const client = restClient(test, people.member.key, 'laptop');
      const path = `/api/jobs/${jobId}/client-tool`;
      const long = JSON.stringify({ callId: 'c1', deviceId: 'd', more: 'x'.repeat(4_096) });
      const announced = await test.call('POST', `${path}/claim`, { key: people.member.key, body: long });
      expect([announced.status, announced.body]).toMatchObject([413, { error: 'Request body exceeds 4096 bytes' }]);
      const claim = { callId: 'c1', claimToken: tokenOf(await client.claim(jobId, 'c1')) };
      const over = await client.submit(jobId, claim, { result: 'x'.repeat(262_145) });
      expect([over.status, over.body]).toMatchObject([413, { error: 'Tool result exceeds 262144 bytes' }]);
      const far = await client.submit(jobId, claim, { result: 'x'.repeat(1_600_000) });
      expect([far.status, far.body]).toMatchObject([413, { error: 'Request body exceeds 1589248 bytes' }]);
      model.enqueue(textReply(['Read.']));
      expect((await client.submit(jobId, claim, { result: '\x01'.repeat(262_144) })).status).toBe(200);
      await jobs.ended(jobId);
    });
  });

  describe('REST client tool endpoints with client tools disabled', () => {
    it('report that, and calls of client tools are skipped', async () => {
      const env = { MODEL_BASE_URL: model.url, FEATURE_CLIENT_TOOLS: 'off' };
      const off = await startTestApi(database, { env, takesJobs: false });
      const { key } = people.member;
      const capability = await off.call('GET', '/api/jobs/client-tool/capability', { key });
      expect(capability.body).toEqual({ available: false });
      const path = '/api/jobs/01890000-0000-7000-8000-000000000000/client-tool/claim';
      const refused = await off.call('POST', path, { key, body: { callId: 'c1', deviceId: 'd' } });
      expect([refused.status, refused.body]).toMatchObject([501, { code: 'client_tools_off' }]);
      model.enqueue(toolCallReply([scriptedCall('c1')]), textReply(['Never mind.']));
      const started = await restJobs(off, key).start(
        chatBody({ tools: [advertised('open_file')], _clientTools: true }),
      );
      expect(await jobs.ended(jobIdOf(started))).toMatchObject({ tool_calls: [{ status: 'skipped' }] });
      await off.close();
    });
  });
});
