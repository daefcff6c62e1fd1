import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { EventFeed } from '#jobs';
import { OpenStreams } from '#platform/api';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { chatBody, type GatedStart, gatedStart, jobIdOf, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textChunk, textReply } from '../harness/scripted-reply.js';

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

describe('OR3 stream', () => {
  it('sends a snapshot, deltas, statuses, and the whole text at the end', async () => {
    const { jobId, gate } = await gated(['Hello '], ['there']);
    const stream = await jobs.watch(jobId, { query: '?format=or3&offset=4' });
    const first = await stream.until(() => true);
    expect(first).toMatchObject({
      event: undefined,
      data: { event: 'snapshot', status: { content_delta: 'o ', status: 'streaming' } },
    });
    gate.open();
    await stream.over;
    const frames = stream.frames.map(({ data }) => data as { event: string; status: Record<string, unknown> });
    const deltas = frames.filter(({ event }) => event === 'delta').map(({ status }) => String(status['content_delta']));
    expect(deltas.join('')).toBe('there');
    expect(frames.at(-1)).toMatchObject({ event: 'status', status: { content: 'Hello there', status: 'complete' } });
    expect(frames.slice(1, -1).every(({ status }) => !('content' in status))).toBe(true);
    expect(stream.frames.every(({ id }) => id !== undefined)).toBe(true);
  });

  it('resumes after an event number', async () => {
    const { jobId, gate } = await gated(['Hello '], ['there']);
    const before = await jobs.watch(jobId, { query: '?format=or3' });
    const { id = '' } = await before.until(() => true);
    before.leave();
    const stream = await jobs.watch(jobId, { query: '?format=or3&offset=0', headers: { 'last-event-id': id } });
    gate.open();
    await stream.over;
    const [first] = stream.frames;
    expect(first?.data).toMatchObject({ event: 'delta', status: { content_delta: 'there', content_length: 11 } });
    expect(stream.frames.at(-1)?.data).toMatchObject({ event: 'status', status: { content: 'Hello there' } });
  });

  it('sends a status with the remaining text when text is withdrawn', async () => {
    model.enqueue({ body: [textChunk('broken ')], end: 'destroy' });
    model.enqueue(textReply(['whole']));
    const jobId = jobIdOf(await jobs.start(chatBody()));
    const stream = await jobs.watch(jobId, { query: '?format=or3' });
    await stream.over;
    const last = stream.frames.at(-1)?.data as { status: Record<string, unknown> };
    expect(last.status).toMatchObject({ content: 'whole', attempt: 1, status: 'complete' });
  });

  it('rejects an unknown format', async () => {
    const { jobId, gate } = await gated(['x'], []);
    gate.open();
    const reply = await test.call('GET', `/api/jobs/${jobId}/stream?format=xml`, { key: owner.key });
    expect([reply.status, reply.body]).toMatchObject([400, { code: 'bad_request', field: 'format' }]);
  });
});
