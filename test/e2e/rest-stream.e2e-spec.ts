import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { EventSource } from 'eventsource';

import { EventFeed } from '#jobs';
import { newId } from '#platform';
import { OpenStreams } from '#platform/api';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import type { StreamFrame } from '../harness/event-stream.js';
import { eventually } from '../harness/eventually.js';
import { chatBody, type GatedStart, gatedStart, jobIdOf, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textChunk, textReply } from '../harness/scripted-reply.js';

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

describe('REST stream of a job', () => {
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
    await database.postgres.workerPool.query(`DELETE FROM job_event WHERE job_id = $1 AND type = 'text-delta'`, [
      jobId,
    ]);
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
      { id: undefined, event: 'closed', data: { reason: 'unauthorized', retryable: false, after: Number(id) } },
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
