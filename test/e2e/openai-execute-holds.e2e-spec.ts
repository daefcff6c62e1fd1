import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';

import { OpenStreams } from '../../apps/api/src/streams/open-streams.js';
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
const seats = () => stage.test.api.app.get(OpenStreams).size;
const runs = () => eventually('the tool runs', () => (stage.called.length === 1 ? true : undefined));

async function isStopped(jobId: string): Promise<boolean> {
  const { rows } = await stage.database.postgres.engine.query<{ stopped: boolean }>(
    'SELECT cancel_requested_at IS NOT NULL AS stopped FROM job WHERE id = $1',
    [jobId],
  );
  return rows[0]?.stopped ?? true;
}

it('has a seat among the answers of its key for as long as it is held', async () => {
  const reply = stage.execute(slow);
  await runs();
  expect(seats()).toBe(1);
  stage.gate.open();
  expect((await reply).status).toBe(200);
  expect(seats()).toBe(0);
});

it('tells a revoked key nothing, and lets the job go on', async () => {
  const { auth, people } = stage.test;
  const { key, keyId } = await people.keyOf(stage.people.owner.principal, ['read', 'write']);
  const reply = stage.execute(slow, { key, ...cancels });
  await runs();
  await auth.apiKeys.revoke(stage.people.owner.principal, keyId);
  const told = await reply;
  expect([told.status, errorOf(told)]).toMatchObject([401, { code: 'invalid_api_key' }]);
  expect(await isStopped(executedJob(told))).toBe(false);
  stage.gate.open();
});

it('asks the client to come back when the server stops, and cancels nothing', async () => {
  const reply = stage.execute(slow, cancels);
  await runs();
  const closed = stage.test.api.close();
  const told = await reply;
  expect([told.status, errorOf(told)]).toMatchObject([503, { code: 'server_busy' }]);
  expect(told.headers.get('retry-after')).toBe('5');
  stage.gate.open();
  await closed;
  expect(await isStopped(executedJob(told))).toBe(false);
});
