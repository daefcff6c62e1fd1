import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { EventSource } from 'eventsource';

import { EventFeed } from '#jobs';
import { OpenStreams } from '#platform/api';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import type { StreamFrame } from '../harness/event-stream.js';
import { eventually } from '../harness/eventually.js';
import { type GatedStart, gatedStart, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';

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

/** Streams `texts` and completes. */
async function startFinished(texts: readonly string[]): Promise<{ jobId: string; lastSeq: number }> {
  const { jobId, gate } = await gated(texts, []);
  gate.open();
  const { seq } = await jobs.ended(jobId);
  return { jobId, lastSeq: Number(seq) };
}

const textOf = (frames: readonly StreamFrame[]) =>
  frames.map(({ event, data }) => (event === 'text-delta' ? String(data['text']) : '')).join('');
const seqsOf = (frames: readonly StreamFrame[]) => frames.map(({ id }) => Number(id));

describe('REST stream of a job', () => {
  it('sends a snapshot of the text, then every later event, then the end', async () => {
    const { jobId, gate } = await gated(['Hello '], ['👋 ', 'there']);
    const stream = await jobs.watch(jobId);
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': expect.any(String),
    });
    expect(stream.headers['content-encoding']).toBeUndefined();
    const first = await stream.until(() => true);
    expect(first).toMatchObject({
      event: 'snapshot',
      data: { reset: false, status: { content: 'Hello ' }, interrupts: [] },
    });
    gate.open();
    expect(await stream.over).toBe(true);
    const events = stream.frames.slice(1);
    expect(textOf(events)).toBe('👋 there');
    expect(seqsOf(stream.frames)).toEqual(stream.frames.map((_, i) => Number(first.id) + i));
    expect(stream.frames.at(-1)).toMatchObject({
      event: 'job-finished',
      data: { status: 'completed', content_length: 14 },
    });
    expect(stream.raw().startsWith('retry: 2000\n\n')).toBe(true);
  });

  it('resumes exactly after any event number', async () => {
    const { jobId, lastSeq } = await startFinished(['a', 'b', 'c']);
    const all = await jobs.watch(jobId, { query: '?after=0' });
    await all.over;
    expect(seqsOf(all.frames)).toEqual(Array.from({ length: lastSeq }, (_, i) => i + 1));
    for (let cursor = 1; cursor < lastSeq; cursor++) {
      const byHeader = await jobs.watch(jobId, { query: '?after=1', headers: { 'last-event-id': String(cursor) } });
      const byQuery = await jobs.watch(jobId, { query: `?after=${cursor}` });
      await Promise.all([byHeader.over, byQuery.over]);
      expect(byHeader.frames).toEqual(all.frames.slice(cursor));
      expect(byQuery.frames).toEqual(all.frames.slice(cursor));
    }
  });

  it('returns 204 to a viewer that has every event of a finished job', async () => {
    const { jobId, lastSeq } = await startFinished(['done']);
    for (const query of [`?after=${lastSeq}`, `?after=${lastSeq}&format=or3`]) {
      const stream = await jobs.watch(jobId, { query: query });
      await stream.over;
      expect([stream.status, stream.raw()]).toEqual([204, '']);
    }
  });

  it.each(['?after=999', '?after=99999999999'])(
    'sends a reset snapshot for a cursor ahead of the log (%s)',
    async (query) => {
      const { jobId } = await startFinished(['text']);
      const stream = await jobs.watch(jobId, { query: query });
      await stream.over;
      expect(stream.frames).toMatchObject([{ event: 'snapshot', data: { reset: true, status: { content: 'text' } } }]);
    },
  );

  it('sends a snapshot instead of a gap after the deltas were trimmed', async () => {
    const { jobId, lastSeq } = await startFinished(['trimmed']);
    await database.postgres.withWorkspaceSql(owner.principal.workspaceId, () => Promise.resolve());
    await database.postgres.engine.query(`DELETE FROM job_event WHERE job_id = $1 AND type = 'text-delta'`, [jobId]);
    const stream = await jobs.watch(jobId, { query: '?after=1' });
    await stream.over;
    expect(stream.frames).toMatchObject([
      { id: String(lastSeq), event: 'snapshot', data: { reset: true, status: { content: 'trimmed' } } },
    ]);
  });

  it.each([
    ['?after=-1', {}],
    ['?after=1.5', {}],
    ['?after=x', {}],
    ['', { 'last-event-id': 'abc' }],
  ])('rejects the invalid cursor %s %j and names it', async (query, headers) => {
    const { jobId } = await startFinished(['x']);
    const reply = await test.call('GET', `/api/jobs/${jobId}/stream${query}`, { key: owner.key, headers });
    expect([reply.status, reply.body]).toMatchObject([400, { code: 'invalid_cursor' }]);
  });

  it('serves any EventSource, which reconnects automatically and stops at the end', async () => {
    const { jobId, gate } = await gated(['Hi '], ['line\nbreak\r\n']);
    const source = new EventSource(`${test.url}/api/jobs/${jobId}/stream`, {
      fetch: (input, init) =>
        fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${owner.key}` } }),
    });
    const texts: string[] = [];
    for (const kind of ['snapshot', 'text-delta', 'job-finished']) {
      source.addEventListener(kind, (message) => {
        const data = JSON.parse(String(message.data)) as { text?: string; status?: { content?: string } };
        texts.push(data.text ?? data.status?.content ?? kind);
      });
    }
    const stopped = new Promise<number | undefined>((resolve) => {
      source.addEventListener('error', ({ code }) => {
        if (source.readyState === EventSource.CLOSED) resolve(code);
      });
    });
    await eventually('the snapshot came', () => (texts.length > 0 ? true : undefined));
    gate.open();
    expect(await stopped).toBe(204);
    expect(texts.slice(0, -1).join('')).toBe('Hi line\nbreak\r\n');
  });

  it('reads the log once for all viewers of a job', async () => {
    const { jobId, gate } = await gated(['a'], ['b']);
    const streams = await Promise.all([1, 2, 3].map(() => jobs.watch(jobId)));
    await Promise.all(streams.map((stream) => stream.until(() => true)));
    expect(test.api.app.get(EventFeed).tails).toBe(1);
    gate.open();
    await Promise.all(streams.map(({ over }) => over));
    for (const { frames } of streams)
      expect(frames).toEqual(
        streams[0]?.frames.map((frame, i) =>
          i === 0 ? { ...frame, data: { ...frame.data, at: frames[0]?.data['at'] } } : frame,
        ),
      );
  });

  it('releases the stream of a viewer that disconnects while the job keeps running', async () => {
    const { jobId, gate } = await gated(['a'], ['b']);
    const stream = await jobs.watch(jobId);
    await stream.until(() => true);
    stream.leave();
    await eventually('it is gone', () => (test.api.app.get(OpenStreams).size === 0 ? true : undefined));
    gate.open();
    const other = await jobs.watch(jobId, { query: '?after=0' });
    await other.over;
    expect(textOf(other.frames)).toBe('ab');
  });

  it('takes no stream slot for HEAD', async () => {
    const { jobId, gate } = await gated(['a'], []);
    const reply = await test.call('HEAD', `/api/jobs/${jobId}/stream`, { key: owner.key });
    expect([reply.status, reply.body]).toEqual([200, '']);
    gate.open();
    await jobs.ended(jobId);
  });

  it('limits the number of streams', async () => {
    const { jobId, gate } = await gated(['a'], []);
    const streams = await Promise.all([1, 2, 3, 4].map(() => jobs.watch(jobId)));
    const refused = await test.call('GET', `/api/jobs/${jobId}/stream`, { key: owner.key });
    expect([refused.status, refused.body]).toMatchObject([429, { code: 'rate_limited' }]);
    expect(refused.headers.get('retry-after')).toBe('5');
    streams[0]?.leave();
    await eventually('a stream slot is free', () => (test.api.app.get(OpenStreams).size === 3 ? true : undefined));
    const again = await jobs.watch(jobId);
    expect(again.status).toBe(200);
    gate.open();
    await again.over;
  });
});
