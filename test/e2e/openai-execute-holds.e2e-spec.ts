import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';

import { OpenStreams } from '#platform/api';

import { eventually } from '../harness/eventually.js';
import { echo, errorOf, executedJob, type ExecuteStage, openExecuteStage } from '../harness/execute-stage.js';

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

const slow = echo({ tool_name: 'slow' });
const cancels = { headers: { 'x-on-disconnect': 'cancel' } };
const openStreams = () => stage.test.api.app.get(OpenStreams).size;
const runs = () => eventually('the tool runs', () => (stage.called.length === 1 ? true : undefined));

async function isStopped(jobId: string): Promise<boolean> {
  const { rows } = await stage.database.postgres.engine.query<{ stopped: boolean }>(
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
