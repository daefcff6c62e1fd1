import { randomBytes } from 'node:crypto';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { EventFeed } from '#jobs';
import { newId } from '#platform';
import { OpenStreams } from '#platform/api';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { chatBody, jobIdOf, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textChunk, textReply } from '../harness/scripted-reply.js';

let database: TestDatabase;
/** For those that take no jobs: what they accept is never another's to run, and to ask the model about. */
let idle: TestDatabase;
let model: ScriptedModel;
/** With the default settings. */
let shared: TestApi;
const opened: TestApi[] = [];

beforeAll(async () => {
  [database, idle] = [await createTestDatabase(), await createTestDatabase()];
  model = await ScriptedModel.start();
  shared = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
});
afterEach(async () => {
  // Also what a red test has left open.
  await Promise.all(opened.splice(0).map((test) => test.close()));
});
afterAll(async () => {
  await shared.close();
  await model.close();
  await database.close();
  await idle.close();
});

interface Scene {
  readonly test: TestApi;
  readonly owner: TestMember;
  readonly jobs: RestJobs;
  readonly start: (admission?: string) => ReturnType<TestApi['call']>;
}

/** An API of its own for each fact: these settings are the process's. */
async function open(env: Readonly<Record<string, string>>, takesJobs = true): Promise<Scene> {
  const test = await startTestApi(takesJobs ? database : idle, {
    takesJobs,
    env: { MODEL_BASE_URL: model.url, ...env },
  });
  opened.push(test);
  return sceneOf(test);
}

/** A new workspace, and its owner as a REST client. */
async function sceneOf(test: TestApi): Promise<Scene> {
  const { owner } = await test.people.workspaceOf(`w-${newId()}`);
  const jobs = restJobs(test, owner.key);
  const start = (admission?: string) =>
    jobs.start(
      chatBody(admission === undefined ? {} : { _threadId: admission, _messageId: admission, _admissionId: admission }),
    );
  return { test, owner, jobs, start };
}

describe('REST admission by idempotency key', () => {
  const keyRule = 'must be 1 to 255 visible ASCII characters and must not begin with "trigger:"';
  let key: string;
  let jobs: RestJobs;

  beforeAll(async () => {
    const scene = await sceneOf(shared);
    ({ jobs } = scene);
    ({ key } = scene.owner);
  });

  afterEach(() => {
    model.assertDone();
  });

  it('starts one job and one model call for many requests', async () => {
    model.enqueue(textReply(['once']));
    const body = chatBody({ _admissionId: 'twenty' });
    const replies = await Promise.all(Array.from({ length: 20 }, () => jobs.start(body)));
    expect(new Set(replies.map(jobIdOf)).size).toBe(1);
    expect(replies.filter(({ status }) => status === 202)).toHaveLength(1);
    const replays = replies.filter(({ status }) => status === 200);
    expect(replays).toHaveLength(19);
    expect(replays.every(({ headers }) => headers.get('idempotent-replayed') === 'true')).toBe(true);
    await jobs.ended(jobIdOf(replies[0] ?? (await jobs.start(body))));
  });

  it('returns the same job after its end', async () => {
    model.enqueue(textReply(['done']));
    const body = chatBody();
    const headers = { 'idempotency-key': 'ended' };
    const jobId = jobIdOf(await jobs.start(body, { headers }));
    await jobs.ended(jobId);
    const again = await jobs.start({ ...body, _backgroundMode: 'another view' }, { headers });
    expect([again.status, again.body]).toEqual([
      200,
      { jobId, status: 'complete', threadId: body._threadId, messageId: body._messageId },
    ]);
    const other = await jobs.start({ ...body, temperature: 1 }, { headers });
    expect([other.status, other.body]).toMatchObject([
      422,
      { error: 'Idempotency key was already used with a different request', code: 'idempotency_key_mismatch' },
    ]);
  });

  it('leaves the key free when its start was rejected', async () => {
    const headers = { 'idempotency-key': 'refused-then-used' };
    expect((await jobs.start(chatBody({ messages: [] }), { headers })).status).toBe(400);
    model.enqueue(textReply(['fine']));
    const reply = await jobs.start(chatBody(), { headers });
    expect(reply.status).toBe(202);
    await jobs.ended(jobIdOf(reply));
  });

  it('rejects a key with the prefix of jobs that a trigger starts', async () => {
    const body = chatBody({ _admissionId: 'trigger:night:1' });
    const reply = await jobs.start(body);
    expect([reply.status, reply.body]).toMatchObject([400, { error: `An idempotency key ${keyRule}` }]);
  });

  it('finds the job of the key', async () => {
    model.enqueue(textReply(['found']));
    const body = chatBody({ _admissionId: 'find-me' });
    const jobId = jobIdOf(await jobs.start(body));
    await jobs.ended(jobId);
    const { _threadId: threadId, _messageId: messageId } = body;
    const found = await shared.call('GET', '/api/jobs/admission/find-me', { key });
    expect([found.status, found.body]).toEqual([200, { jobId, status: 'complete', threadId, messageId }]);
  });

  it('finds the job of a message by the longest ids that a start accepts', async () => {
    model.enqueue(textReply(['found']));
    const [threadId, messageId] = ['t'.repeat(256), 'm'.repeat(256)];
    const jobId = jobIdOf(await jobs.start(chatBody({ _threadId: threadId, _messageId: messageId })));
    await jobs.ended(jobId);
    const find = (message: string) =>
      shared.call('GET', `/api/jobs?threadId=${threadId}&messageId=${message}`, { key });
    expect((await find(messageId)).body).toEqual({ jobId, status: 'complete', threadId, messageId });
    expect((await find(`${messageId}m`)).body).toMatchObject({ code: 'bad_request', field: 'messageId' });
  });

  it.each([
    ['/api/jobs/admission/unknown', 404, 'No job for this admission'],
    [`/api/jobs/admission/${'x'.repeat(256)}`, 400, 'Missing admission ID'],
    ['/api/jobs/admission/', 400, 'Missing admission ID'],
  ])('responds to a lookup at %.40s with %i', async (path, status, error) => {
    const reply = await shared.call('GET', path, { key });
    expect([reply.status, reply.body]).toMatchObject([status, { error }]);
  });

  it('starts nothing when the key was aborted first', async () => {
    const abort = await shared.call('POST', '/api/jobs/admission-abort', { key, body: { admissionId: 'too-early' } });
    expect([abort.status, abort.body]).toEqual([
      200,
      { aborted: false, pending: true, jobId: null, state: 'cancel_requested' },
    ]);
    const reply = await jobs.start(chatBody({ _admissionId: 'too-early' }));
    expect([reply.status, reply.body]).toMatchObject([
      409,
      { error: 'This admission was cancelled before it started', code: 'admission_cancelled' },
    ]);
    expect((await shared.call('GET', '/api/jobs/admission/too-early', { key })).status).toBe(404);
  });

  it('cancels the job on abort, with the same response when repeated', async () => {
    const gate = createGate();
    model.enqueue({ body: [textChunk('never '), gate], end: 'hang' });
    const jobId = jobIdOf(await jobs.start(chatBody({ _admissionId: 'stop-me' })));
    await jobs.shows(jobId, 6);
    const body = { admissionId: 'stop-me' };
    const abort = await shared.call('POST', '/api/jobs/admission-abort', { key, body });
    expect(abort.body).toEqual({ aborted: true, pending: false, jobId, state: 'aborted' });
    const again = await shared.call('POST', '/api/jobs/admission-abort', { key, body });
    expect(again.body).toEqual({ aborted: true, pending: false, jobId, state: 'aborted' });
    gate.open();
  });

  it.each([
    [{}, 'Missing admission ID'],
    [{ admissionId: '' }, 'Missing admission ID'],
    [{ admissionId: 5 }, `Invalid request body: admissionId ${keyRule}`],
    [{ admissionId: 'x'.repeat(256) }, `Invalid request body: admissionId ${keyRule}`],
    [{ admissionId: 'trigger:night:1' }, `Invalid request body: admissionId ${keyRule}`],
  ])('rejects an invalid key of an abort: %#', async (body, error) => {
    const reply = await shared.call('POST', '/api/jobs/admission-abort', { key, body });
    expect([reply.status, reply.body]).toMatchObject([400, { error }]);
  });
});

describe('start limit per minute', () => {
  it('limits each principal and counts no repeats', async () => {
    const { test, start } = await open({ STARTS_PER_MINUTE: '2' }, false);
    const first = await start('a');
    expect([first.status, first.headers.get('x-ratelimit-limit'), first.headers.get('x-ratelimit-remaining')]).toEqual([
      202,
      '2',
      '1',
    ]);
    expect((await start('a')).status).toBe(200);
    expect((await start('b')).headers.get('x-ratelimit-remaining')).toBe('0');
    const refused = await start('c');
    expect(refused.status).toBe(429);
    const seconds = refused.headers.get('retry-after');
    expect(refused.body).toMatchObject({
      error: expect.stringMatching(
        `^Rate limit exceeded. Retry after ${seconds ?? ''}s. At most 2 job starts of a user in a minute`,
      ),
      ...{ code: 'rate_limited', limit: 'STARTS_PER_MINUTE', limitValue: 2, raisedBy: 'operator' },
    });
    expect([refused.headers.get('x-ratelimit-limit'), refused.headers.get('x-ratelimit-remaining')]).toEqual([
      '2',
      '0',
    ]);
    const replay = await start('a');
    expect([replay.status, replay.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect((await test.call('GET', '/api/jobs/admission/c', { key: replay.headers.get('none') ?? '' })).status).toBe(
      401,
    );
  });
});

describe('workspace limits', () => {
  it('reject a start with whenFull `reject`, store nothing and name the limit', async () => {
    const { owner, start } = await open({}, false);
    const { workspaceId } = owner.principal;
    await idle.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(`UPDATE workspace SET max_jobs_per_user = 2, when_full = 'reject' WHERE id = $1`, [workspaceId]),
    );
    const replies = await Promise.all(Array.from({ length: 8 }, (_, i) => start(`cap-${i}`)));
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 202, 503, 503, 503, 503, 503, 503]);
    const refused = replies.find(({ status }) => status === 503);
    const rule = 'a user runs at most 2 jobs at once (maxJobsPerUser)';
    expect(refused?.body).toMatchObject({
      error: `Server busy, try again later: ${rule}. An owner or admin of the workspace can raise it.`,
      code: 'job_limit_reached',
      ...{ limit: 'maxJobsPerUser', limitValue: 2, raisedBy: 'workspace_admin' },
    });
    expect(refused?.headers.get('retry-after')).toBe('5');
  });
});

describe('500 parallel starts of one user', () => {
  it('receive job ids and complete without exceeding the caps of the workspace', async () => {
    const { owner, start } = await sceneOf(shared);
    const { workspaceId } = owner.principal;
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query('UPDATE workspace SET max_jobs = DEFAULT, max_jobs_per_user = DEFAULT WHERE id = $1', [workspaceId]),
    );
    for (let i = 0; i < 500; i++) model.enqueue(textReply(['ok']));
    const replies = await Promise.all(Array.from({ length: 500 }, (_, i) => start(`many-${i}`)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([202]));
    let most = 0;
    const ended = await eventually('all have ended', async () => {
      const [row] = await database.postgres.readInWorkspace<{ running: number; unfinished: number }>(workspaceId, {
        text: `SELECT count(*) FILTER (WHERE status = 'running')::int AS running,
                 count(*) FILTER (WHERE finished_at IS NULL)::int AS unfinished FROM job`,
      });
      most = Math.max(most, row?.running ?? 0);
      return row?.unfinished === 0 ? true : undefined;
    });
    expect(ended).toBe(true);
    const states = await database.postgres.readInWorkspace<{ status: string; jobs: number }>(workspaceId, {
      text: 'SELECT status, count(*)::int AS jobs FROM job GROUP BY status',
    });
    expect(states).toEqual([{ status: 'completed', jobs: 500 }]);
    expect(most).toBeLessThanOrEqual(5);
  });
});

describe('REST viewer that stops reading', () => {
  it('loses its connection, while the other viewers and the job continue', async () => {
    const { test, jobs, start } = await open({
      ...{ SLOW_VIEWER_BYTES: '65536', SLOW_VIEWER_MS: '5000', MAX_OUTPUT_BYTES: '67108864' },
      ...{ DELTA_FLUSH_BYTES: '65536' },
    });
    const gate = createGate();
    // More than the kernel holds for a reader that does not read: up to 33 MB with Linux at its defaults here, and 4 MB to be sent.
    // Random, as Postgres measures the events of a page by their compressed sizes first.
    const piece = randomBytes(49_152).toString('base64');
    const pieces = Array.from({ length: 640 }, () => textChunk(piece));
    model.enqueue({ body: [textChunk('go'), gate, ...pieces, ...textReply(['end']).body] });
    const { jobId } = (await start()).body as { jobId: string };
    const [slow, quick] = [await jobs.watch(jobId), await jobs.watch(jobId)];
    await Promise.all([slow, quick].map((stream) => stream.until(() => true)));
    slow.pause();
    gate.open();
    expect(await quick.over).toBe(true);
    await eventually('the slow viewer is cut off', () => (test.api.app.get(OpenStreams).size === 0 ? true : undefined));
    expect(test.api.app.get(EventFeed).tails).toBe(0);
    slow.resume();
    expect(await slow.over).toBe(false);
    // It received the events without a gap, so it can resume. A viewer that is far behind gets a snapshot instead of the events before it.
    const numbered = slow.frames.filter(({ id }) => id !== undefined);
    expect(numbered.length).toBeGreaterThan(0);
    const follows = (i: number) => Number(numbered[i]?.id) === Number(numbered[i - 1]?.id) + 1;
    expect(numbered.filter(({ event }, i) => i > 0 && event !== 'snapshot' && !follows(i))).toEqual([]);
  });
});

describe('API health endpoints', () => {
  it('report liveness and readiness without a credential', async () => {
    expect((await shared.call('GET', '/healthz')).body).toEqual({ status: 'ok' });
    const ready = await shared.call('GET', '/readyz');
    expect([ready.status, ready.body]).toEqual([
      200,
      { status: 'ready', draining: false, database: true, bus: true, warnings: [], plugins: [] },
    ]);
  });

  it('return /metrics only for the operator token', async () => {
    const METRICS_TOKEN = 'the token of the operators of this test';
    const { test, owner } = await open({ METRICS_TOKEN }, false);
    const local = await test.call('GET', '/metrics', { key: METRICS_TOKEN });
    expect(local.status).toBe(200);
    expect(local.headers.get('content-type')).toContain('text/plain');
    expect(local.body).toContain('nightshift_viewers');
    expect(local.body).toContain('nodejs_eventloop_lag_seconds');
    for (const key of [undefined, owner.key]) {
      expect((await test.call('GET', '/metrics', key === undefined ? {} : { key })).status).toBe(404);
    }
    const again = await test.call('GET', '/metrics', { key: METRICS_TOKEN });
    expect(again.body).not.toContain('nightshift_requests_refused_total{');
    await test.call('POST', '/v1/chat/completions', { body: {} });
    const counted = await test.call('GET', '/metrics', { key: METRICS_TOKEN });
    expect(counted.body).toContain('nightshift_requests_refused_total{api="openai",status="401"} 1');
  });

  it('return 404 for /metrics without an operator token', async () => {
    expect((await shared.call('GET', '/metrics')).status).toBe(404);
  });

  it('report not ready without the database', async () => {
    const { test } = await open({}, false);
    await test.platform.postgres.close();
    const reply = await test.call('GET', '/readyz');
    expect([reply.status, reply.body]).toMatchObject([503, { status: 'not_ready', database: false }]);
    expect((await test.call('GET', '/healthz')).status).toBe(200);
  });
});

describe('REST responses', () => {
  it('carry a request id and security headers and no framework name', async () => {
    const reply = await shared.call('GET', '/nowhere', { headers: { 'x-request-id': 'trace-1' } });
    expect(reply.body).toEqual({ error: 'Not found', code: 'not_found', retryable: false, requestId: 'trace-1' });
    expect(reply.headers.get('x-request-id')).toBe('trace-1');
    expect(reply.headers.get('x-powered-by')).toBeNull();
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('report a path that cannot be decoded', async () => {
    for (const path of ['/api/jobs/%FF/status', '/hooks/%FF', '/api/files/%FF'])
      expect([path, await shared.call('GET', path)]).toMatchObject([
        path,
        { status: 400, body: { error: 'The path of the URL cannot be decoded', code: 'bad_request' } },
      ]);
  });

  it('carry Retry-After during a database outage and no internal error text', async () => {
    const { test, owner } = await open({}, false);
    const path = `/api/jobs/${newId()}/status`;
    expect((await test.call('GET', path, { key: owner.key })).status).toBe(404);
    await test.platform.prisma.close();
    await test.platform.postgres.close();
    const reply = await test.call('GET', path, { key: owner.key });
    const { code, error } = reply.body as { code: string; error: string };
    expect([503, 500]).toContain(reply.status);
    expect(['unavailable', 'internal']).toContain(code);
    expect(error).not.toMatch(/pool|prisma|pg|postgres:/i);
  });
});

describe('closing the API', () => {
  it('ends live streams with a reason and rejects new requests', async () => {
    const { test, owner, jobs, start } = await open({ WORKER_DRAIN_MS: '50' });
    model.enqueue({ body: [textChunk('half'), createGate()], end: 'hang' });
    const { jobId } = (await start()).body as { jobId: string };
    const streams = [await jobs.watch(jobId), await jobs.watch(jobId)];
    await Promise.all(streams.map((stream) => stream.until(() => true)));
    const closing = test.close();
    expect(await Promise.all(streams.map(({ over }) => over))).toEqual([true, true]);
    for (const { frames } of streams) {
      expect(frames.at(-1)).toMatchObject({
        id: undefined,
        event: 'closed',
        data: { reason: 'shutdown', retryable: true, after: expect.any(Number) },
      });
    }
    await closing;
    await expect(test.call('GET', '/healthz', { key: owner.key })).rejects.toThrow();
  });
});
