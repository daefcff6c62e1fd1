import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { EventFeed } from '#jobs';
import { newId } from '#platform';
import { OpenStreams } from '#platform/api';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type GatedStart, gatedStart, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textChunk } from '../harness/scripted-reply.js';

let database: TestDatabase;
let model: ScriptedModel;
let test: TestApi;
let owner: TestMember;
let jobs: RestJobs;
let gated: GatedStart;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  const env = { MODEL_BASE_URL: model.url, STREAMS_PER_PRINCIPAL: '4', DELTA_FLUSH_MS: '5' };
  test = await startTestApi(database, { env });
  ({ owner } = await test.people.workspaceOf('streams'));
  jobs = restJobs(test, owner.key);
  gated = gatedStart(jobs, model);
});
afterEach(async () => {
  model.assertDone();
  // After each test no viewer is left.
  await eventually('all viewers are gone', () => (test.api.app.get(OpenStreams).size === 0 ? true : undefined));
  await eventually('all tails are gone', () => (test.api.app.get(EventFeed).tails === 0 ? true : undefined));
  expect(await test.platform.metrics.registry.getSingleMetricAsString('nightshift_viewers')).toContain(
    'nightshift_viewers 0',
  );
});
afterAll(async () => {
  await test.close();
  await model.close();
  await database.close();
});

describe('access to a REST stream', () => {
  it('ends when the key is revoked: no more content, and a reason', async () => {
    const { key, keyId } = await test.people.keyOf(owner.principal, ['read']);
    const { jobId, gate } = await gated(['seen '], ['unseen']);
    const stream = await jobs.watch(jobId, { key: key });
    const { id } = await stream.until(() => true);
    await test.auth.apiKeys.revoke(owner.principal, keyId);
    await stream.over;
    gate.open();
    expect(stream.frames.slice(1)).toEqual([
      { id: undefined, event: 'closed', data: { reason: 'unauthorized', after: Number(id) } },
    ]);
    expect((await test.call('GET', `/api/jobs/${jobId}/status`, { key })).status).toBe(401);
    await (
      await jobs.watch(jobId)
    ).over;
  });

  it('ends when the membership ends', async () => {
    const { owner: boss, member } = await test.people.workspaceOf('leaving');
    model.enqueue({ body: [textChunk('x'), createGate()], end: 'hang' });
    const body = { _threadId: newId(), _messageId: newId(), messages: [{ role: 'user', content: 'go' }] };
    const { jobId } = (await test.call('POST', '/api/jobs', { key: member.key, body })).body as { jobId: string };
    const stream = await jobs.watch(jobId, { key: member.key });
    await stream.until(({ event }) => event === 'text-delta' || event === 'snapshot');
    await restJobs(test, member.key).shows(jobId, 1);
    await test.auth.members.remove(boss.person, member.principal.userId);
    await stream.over;
    expect(stream.frames.at(-1)).toMatchObject({ event: 'closed', data: { reason: 'unauthorized' } });
    expect((await test.call('GET', `/api/jobs/${jobId}/status`, { key: member.key })).status).toBe(404);
    await test.call('POST', `/api/jobs/${jobId}/abort`, { key: boss.key });
  });

  it('ends when the token expires', async () => {
    const { jobId, gate } = await gated(['x'], []);
    // A token that expires before the stream begins is followed by one with a longer life.
    let stream = await jobs.watch(jobId, { key: await test.people.tokenOf('streams-owner', 2) });
    for (let life = 4; stream.status === 401; life *= 2)
      stream = await jobs.watch(jobId, { key: await test.people.tokenOf('streams-owner', life) });
    await stream.over;
    expect(stream.frames.at(-1)).toMatchObject({ event: 'closed', data: { reason: 'token_expired' } });
    gate.open();
    await (
      await jobs.watch(jobId)
    ).over;
  });
});
