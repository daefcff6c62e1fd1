import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { advertised, restClient, scriptedCall, tokenOf, waitingFor } from '../harness/rest-client.js';
import { chatBody, jobIdOf, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let database: TestDatabase;
let model: ScriptedModel;
let test: TestApi;
let people: Record<Role, TestMember>;
let foreign: TestMember;
let jobs: RestJobs;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  test = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  people = await test.people.workspaceOf('acme');
  foreign = (await test.people.workspaceOf('other')).owner;
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
    const forbidden = [403, { error: 'Forbidden', code: 'forbidden', requestId: '' }];
    for (const { key } of [people.viewer, people.admin, people.owner]) expect(await knock(key)).toEqual(forbidden);
    const absent = [404, { error: 'Job not found or unauthorized', code: 'not_found', requestId: '' }];
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
    const started = await restJobs(off, key).start(chatBody({ tools: [advertised('open_file')], _clientTools: true }));
    expect(await jobs.ended(jobIdOf(started))).toMatchObject({ tool_calls: [{ status: 'skipped' }] });
    await off.close();
  });
});
