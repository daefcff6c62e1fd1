import { get } from 'node:http';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { EventFeed } from '#jobs';
import { newId } from '#platform';
import { OpenStreams } from '#platform/api';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { type EventStream, openEventStream } from '../harness/event-stream.js';
import { eventually } from '../harness/eventually.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, textChunk, textReply } from '../harness/scripted-reply.js';

let database: TestDatabase;
/** For those that take no jobs: what they accept is never another's to run, and to ask the model about. */
let idle: TestDatabase;
let model: ScriptedModel;
const opened: TestApi[] = [];

beforeAll(async () => {
  [database, idle] = [await createTestDatabase(), await createTestDatabase()];
  model = await ScriptedModel.start();
});
afterEach(async () => {
  // Also what a red test has left open.
  await Promise.all(opened.splice(0).map((test) => test.close()));
});
afterAll(async () => {
  await model.close();
  await database.close();
  await idle.close();
});

interface Scene {
  readonly test: TestApi;
  readonly owner: TestMember;
  readonly start: (admission?: string) => ReturnType<TestApi['call']>;
  readonly watch: (jobId: string) => Promise<EventStream>;
}

/** An API of its own for each fact: these settings are the process's. */
async function open(env: Readonly<Record<string, string>>, takesJobs = true): Promise<Scene> {
  const test = await startTestApi(takesJobs ? database : idle, {
    takesJobs,
    env: { MODEL_BASE_URL: model.url, ...env },
  });
  opened.push(test);
  const { owner } = await test.people.workspaceOf(`w-${newId()}`);
  return {
    test,
    owner,
    start: (admission) =>
      test.call('POST', '/api/jobs', {
        key: owner.key,
        body: {
          _threadId: admission ?? newId(),
          _messageId: admission ?? newId(),
          ...(admission === undefined ? {} : { _admissionId: admission }),
          messages: [{ role: 'user', content: 'hi' }],
        },
      }),
    watch: (jobId) => openEventStream(`${test.url}/api/jobs/${jobId}/stream`, { authorization: `Bearer ${owner.key}` }),
  };
}

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
    const { owner, start } = await open({});
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
    const { test, start, watch } = await open({
      ...{ SLOW_VIEWER_BYTES: '65536', SLOW_VIEWER_MS: '300', MAX_OUTPUT_BYTES: '67108864' },
      ...{ DELTA_FLUSH_BYTES: '65536' },
    });
    const gate = createGate();
    const piece = 'x'.repeat(65_536);
    // More than the kernel holds for a reader that does not read: up to 33 MB with Linux at its defaults here, and 4 MB to be sent.
    const pieces = Array.from({ length: 640 }, () => textChunk(piece));
    model.enqueue({ body: [textChunk('go'), gate, ...pieces, ...textReply(['end']).body] });
    const { jobId } = (await start()).body as { jobId: string };
    const [slow, quick] = [await watch(jobId), await watch(jobId)];
    await Promise.all([slow, quick].map((stream) => stream.until(() => true)));
    slow.pause();
    gate.open();
    await quick.until(({ event }) => event === 'job-finished');
    await eventually('the slow viewer is cut off', () => (test.api.app.get(OpenStreams).size === 0 ? true : undefined));
    expect(test.api.app.get(EventFeed).tails).toBe(0);
    slow.resume();
    expect(await slow.over).toBe(false);
    // What it has is a proper beginning, so that it can come back.
    const seqs = slow.frames.filter(({ id }) => id !== undefined).map(({ id }) => Number(id));
    expect(seqs.length).toBeGreaterThan(0);
    expect(seqs).toEqual(seqs.map((_, i) => (seqs[0] ?? 0) + i));
  });
});

describe('API health endpoints', () => {
  it('report liveness and readiness without a credential', async () => {
    const { test } = await open({});
    expect((await test.call('GET', '/healthz')).body).toEqual({ status: 'ok' });
    const ready = await test.call('GET', '/readyz');
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
    const { test } = await open({}, false);
    expect((await test.call('GET', '/metrics')).status).toBe(404);
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
    const { test } = await open({}, false);
    const reply = await test.call('GET', '/nowhere', { headers: { 'x-request-id': 'trace-1' } });
    expect(reply.body).toEqual({ error: 'Not found', code: 'not_found', retryable: false, requestId: 'trace-1' });
    expect(reply.headers.get('x-request-id')).toBe('trace-1');
    expect(reply.headers.get('x-powered-by')).toBeNull();
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('return a plain error for a path that cannot be decoded', async () => {
    const { test } = await open({}, false);
    const status = await new Promise((resolve) => {
      get(`${test.url}/api/jobs/%FF/status`, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
    });
    expect(status).toBe(400);
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
    const { test, owner, start, watch } = await open({ WORKER_DRAIN_MS: '50' });
    model.enqueue({ body: [textChunk('half'), createGate()], end: 'hang' });
    const { jobId } = (await start()).body as { jobId: string };
    const streams = [await watch(jobId), await watch(jobId)];
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
