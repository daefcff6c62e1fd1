import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PgBoss } from 'pg-boss';

import { LeaseLost } from '#jobs';
import { newId, QUEUE_SCHEMA, TOOL_QUEUES } from '#platform';
import { newCallRow, queueCallRows, type QueuedCall, queueNewCallRow, ToolResults, ToolWorker } from '#tools';

import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import type { ClaimedJob } from '../../libs/jobs/src/run/lease.repository.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestJobs, type TestJobs, writeOf } from '../harness/jobs.js';
import { openTestToolQueue, sendCalls, type TestToolQueue } from '../harness/tool-queue.js';

const sent: QueuedCall = {
  round: 1,
  ordinal: 1,
  name: 'dig',
  arguments: '{"depth":3}',
  toolVersion: 'v1',
  ttlMs: 300_000,
};
const byNumber = (a: object, b: object) => ('n' in a && 'n' in b ? Number(a.n) - Number(b.n) : 0);
const call = {
  ordinal: 1,
  callId: 'call_1',
  name: 'dig',
  arguments: '{"depth":2}',
  effect: 'idempotent',
  status: 'pending',
  result: null,
  error: null,
  ranMs: null,
} as const;

describe('tool queue: send', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let boss: PgBoss;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
    boss = new PgBoss({
      schema: QUEUE_SCHEMA,
      migrate: false,
      schedule: false,
      supervise: false,
      connectionString: database.urls.worker,
    });
    await boss.start();
  });

  afterAll(async () => {
    await boss.stop({ graceful: false });
    await jobs.close();
    await database.close();
  });

  const claimed = async (): Promise<ClaimedJob> => {
    const [started] = await jobs.start(1);
    return jobs.claim(started?.jobId ?? '');
  };
  const commit = async (job: ClaimedJob, number: number, rows: Parameters<typeof writeOf>[2]) =>
    (await jobs.app.get(EventLogRepository).commit([writeOf(job, number, rows)]))[0];
  const fetched = async () => (await boss.fetch(TOOL_QUEUES.requests, { batchSize: 10 })).map(({ data }) => data);
  const rowOf = async ({ jobId }: ClaimedJob) =>
    (
      await jobs.rows(
        `SELECT id, status, executor, exec_epoch, exec_until, queued_at IS NOT NULL AS queued, executed_arguments,
                tool_version FROM tool_call WHERE job_id = $1`,
        [jobId],
      )
    )[0];

  it('moves a committed call and sends its request in one commit, and pg-boss finds what was sent', async () => {
    const job = await claimed();
    const id = newId();
    await commit(job, 1, { rows: [newCallRow(job, 1, { ...call, id })] });
    expect(await fetched()).toEqual([]);
    await commit(job, 2, { rows: queueCallRows(job, sent) });
    expect(await rowOf(job)).toEqual({
      id,
      status: 'running',
      executor: 'queue',
      exec_epoch: 0,
      exec_until: null,
      queued: true,
      executed_arguments: '{"depth":3}',
      tool_version: 'v1',
    });
    expect(await fetched()).toEqual([
      {
        type: 'function_request',
        correlation_id: id,
        session_id: null,
        workspace_id: jobs.workspaceId,
        job_id: job.jobId,
        principal_id: 'system',
        tool_key: 'dig',
        tool_name: 'dig',
        arguments: '{"depth":3}',
        metadata: {
          model: 'scripted',
          idempotency_key: `${job.jobId}:1:1`,
          allow_edit: true,
          admin_required: false,
          ttl_ms: 300_000,
        },
        streaming: true,
        reply_to: 'tool-results',
        exec_epoch: 0,
        attempt: 1,
        timestamp: expect.any(Number),
      },
    ]);
  });

  it('sends a call in the commit that inserts it', async () => {
    const job = await claimed();
    const id = newId();
    const row = newCallRow(job, 1, { ...call, id, status: 'running', executor: 'queue' });
    expect(await commit(job, 1, { rows: [row, queueNewCallRow(job, { ...sent, id })] })).not.toBeInstanceOf(Error);
    expect(await rowOf(job)).toMatchObject({ id, status: 'running', executor: 'queue', queued: true });
    expect(await fetched()).toEqual([expect.objectContaining({ correlation_id: id, exec_epoch: 0 })]);
  });

  it('fetches messages once, the most urgent first, and again those that are given back', async () => {
    const { queues } = jobs.platform;
    const take = { batchSize: 10, ignoreGroups: ['dig'] };
    await boss.send(TOOL_QUEUES.requests, { n: 1 });
    await boss.send(TOOL_QUEUES.requests, { n: 2 }, { priority: 5 });
    await boss.send(TOOL_QUEUES.requests, { n: 3 }, { group: { id: 'dig' } });
    await boss.send(TOOL_QUEUES.requests, { n: 4 }, { startAfter: 60 });
    await boss.send(TOOL_QUEUES.requests, { n: 5 });
    const first = await queues.fetch(TOOL_QUEUES.requests, { ...take, batchSize: 2 });
    expect(first.map(({ data }) => data).sort(byNumber)).toEqual([{ n: 1 }, { n: 2 }]);
    const rest = await Promise.all([
      queues.fetch(TOOL_QUEUES.requests, take),
      queues.fetch(TOOL_QUEUES.requests, take),
    ]);
    expect(rest.flat().map(({ data }) => data)).toEqual([{ n: 5 }]);
    expect(await fetched()).toEqual([{ n: 3 }]);
    for (const message of rest.flat()) await queues.giveBack(TOOL_QUEUES.requests, message);
    const [again] = await queues.fetch(TOOL_QUEUES.requests, take);
    expect(again?.data).toEqual({ n: 5 });
    // The attempt that was given back settles nothing.
    for (const message of rest.flat()) await queues.remove(TOOL_QUEUES.requests, message);
    expect(await queues.find(TOOL_QUEUES.requests, { id: again?.id ?? '' })).toMatchObject([{ state: 'active' }]);
    await boss.deleteQueuedJobs(TOOL_QUEUES.requests);
  });

  it('groups the requests of a tool by workspace, for every runtime', async () => {
    const job = await claimed();
    const rows = (['server', 'http', 'mcp'] as const).flatMap((runtime, i) => {
      const of = { ...call, id: newId(), ordinal: i + 1, callId: runtime, runtime };
      return [
        newCallRow(job, 1, { ...of, status: 'running', executor: 'queue' }),
        queueNewCallRow(job, { ...sent, ...of }),
      ];
    });
    await commit(job, 1, { rows });
    const keys = await jobs.rows<{ group_id: string }>(
      `SELECT group_id FROM pgboss.job WHERE name = $1 AND state = 'created' ORDER BY data->'metadata'->>'idempotency_key'`,
      [TOOL_QUEUES.requests],
    );
    const own = `${jobs.workspaceId}/dig`;
    expect(keys.map(({ group_id: key }) => key)).toEqual([own, own, own]);
    expect(await fetched()).toHaveLength(3);
  });

  it('sends nothing from an old epoch', async () => {
    const job = await claimed();
    await commit(job, 1, { rows: [newCallRow(job, 1, { ...call })] });
    await jobs.expire(job.jobId);
    await jobs.claim(job.jobId);
    expect(await commit(job, 2, { rows: queueCallRows(job, sent) })).toBeInstanceOf(LeaseLost);
    expect(await rowOf(job)).toMatchObject({ status: 'pending', executor: 'worker' });
    expect(await fetched()).toEqual([]);
  });

  it.each([
    ['pure', true],
    ['idempotent', true],
    ['once', false],
  ] as const)('sends a call of a lost worker again when it may be repeated: %s', async (effect, isSent) => {
    const old = await claimed();
    await commit(old, 1, { rows: [newCallRow(old, 1, { ...call, effect, status: 'running' })] });
    expect(await commit(old, 2, { rows: queueCallRows(old, sent) })).toBeInstanceOf(Error);
    await jobs.expire(old.jobId);
    const job = await jobs.claim(old.jobId);
    const answer = await commit(job, 1, { rows: queueCallRows(job, sent) });
    expect(answer instanceof Error).toBe(!isSent);
    expect(await rowOf(job)).toMatchObject(
      isSent ? { status: 'running', executor: 'queue' } : { status: 'interrupted', executor: 'worker' },
    );
    expect(await fetched()).toHaveLength(isSent ? 1 : 0);
  });

  it('sends nothing for a call that has ended', async () => {
    const job = await claimed();
    await commit(job, 1, { rows: [newCallRow(job, 1, { ...call, status: 'skipped' })] });
    expect(await commit(job, 2, { rows: queueCallRows(job, sent) })).toBeInstanceOf(Error);
    expect(await fetched()).toEqual([]);
  });
});

describe('slots of a tool process', () => {
  let database: TestDatabase;
  const opened: TestToolQueue[] = [];

  beforeEach(async () => {
    database = await createTestDatabase();
  });

  afterEach(async () => {
    for (const queue of opened.splice(0)) await queue.close();
    await database.close();
  });

  const open = async (env: Readonly<Record<string, string>> = {}) => {
    const queue = await openTestToolQueue(database, { env });
    opened.push(queue);
    return queue;
  };
  const begin = async (queue: TestToolQueue) => {
    await queue.app.get(ToolResults).start();
    queue.app.get(ToolWorker).start();
  };
  /** Resolves once so many calls wait: one that a process has no slot for is active until it is given back. */
  const waits = (queue: TestToolQueue, count: number) =>
    eventually(`${count} calls wait`, async () => ((await waiting(queue)) === count ? true : undefined));
  const waiting = async (queue: TestToolQueue) =>
    (await queue.rows(`SELECT 1 FROM pgboss.job WHERE name = 'tool-execution' AND state = 'created'`)).length;

  it('run one call of a tool at its limit and leave slots for other tools', async () => {
    const queue = await open({ TOOL_SLOTS_PER_TOOL: '1' });
    const [first, second] = await queue.send('pure', 'pure', 'idempotent');
    if (first === undefined || second === undefined) throw new Error('nothing was sent');
    await begin(queue);
    const running = [await queue.handling(1), await queue.handling(2)];
    expect(running.map(({ name }) => name).sort()).toEqual(['idempotent', 'pure']);
    await waits(queue, 1);
    running.find(({ name }) => name === 'pure')?.finish('one');
    (await queue.handling(3)).finish('two');
    const ended = await Promise.all([first, second].map((sent) => queue.reached(sent, 'completed')));
    expect(ended.map(({ result }) => result).sort()).toEqual(['one', 'two']);
  });

  it('run one call of a tool at its limit although the tool has a concurrency in each workspace', async () => {
    const queue = await open({ TOOL_SLOTS_PER_TOOL: '1' });
    const other = await open();
    const limited = { name: 'pure', concurrency: 2 };
    await sendCalls(queue.app, queue.workspaceId, [limited]);
    await sendCalls(other.app, other.workspaceId, [limited]);
    await queue.send('idempotent');
    await begin(queue);
    const running = [await queue.handling(1), await queue.handling(2)];
    expect(running.map(({ name }) => name).sort()).toEqual(['idempotent', 'pure']);
    await waits(queue, 1);
    running.find(({ name }) => name === 'pure')?.finish('one');
    expect((await queue.handling(3)).name).toBe('pure');
  });

  it('serve another workspace while one has many calls', async () => {
    const noisy = await open({ TOOL_SLOTS: '3', TOOL_SLOTS_PER_WORKSPACE: '2' });
    const quiet = await open();
    for (let n = 0; n < 4; n++) await noisy.send('pure', 'idempotent');
    const sent = await quiet.sendOne('once');
    await begin(noisy);
    const running = await Promise.all([1, 2, 3].map((n) => noisy.handling(n)));
    expect(running.filter(({ context }) => context.workspaceId === sent.workspaceId)).toHaveLength(1);
    await waits(noisy, 6);
  });

  it('serve another workspace that calls the tool of a workspace at its limit', async () => {
    const noisy = await open({ TOOL_SLOTS: '3', TOOL_SLOTS_PER_WORKSPACE: '1' });
    const quiet = await open();
    for (let n = 0; n < 3; n++) await noisy.sendOne('pure');
    const sent = await quiet.sendOne('pure');
    await begin(noisy);
    const running = await Promise.all([1, 2].map((n) => noisy.handling(n)));
    expect(running.filter(({ context }) => context.workspaceId === sent.workspaceId)).toHaveLength(1);
    await waits(noisy, 2);
  });

  it('run no more calls of a tool in a workspace than its concurrency, in all processes together', async () => {
    const [queue, other] = [await open(), await open()];
    const limited = { name: 'pure', concurrency: 2 };
    const sent = await sendCalls(queue.app, queue.workspaceId, [limited, limited, limited]);
    await begin(queue);
    const [first] = [await queue.handling(1), await queue.handling(2)];
    await begin(other);
    const [marker] = await sendCalls(other.app, other.workspaceId, [limited]);
    if (marker === undefined) throw new Error('nothing was sent');
    await eventually('a call of another workspace runs', async () =>
      (await queue.callOf(marker)).taken ? true : undefined,
    );
    await waits(queue, 1);
    first.finish('done');
    await eventually('the third call runs', async () => {
      const epochs = await Promise.all(sent.map(async (call) => (await queue.callOf(call)).exec_epoch));
      return epochs.every((epoch) => epoch === 1) ? true : undefined;
    });
  });

  it('leave a call to another process that has a slot for its tool', async () => {
    const full = await open({ TOOL_SLOTS_PER_TOOL: '1' });
    const free = await open();
    const [first, second] = await full.send('pure', 'pure');
    if (first === undefined || second === undefined) throw new Error('nothing was sent');
    await begin(full);
    (await full.handling(1)).finish(1);
    const held = await full.handling(2);
    const third = await full.sendOne('pure');
    await begin(free);
    (await free.handling(1)).finish('elsewhere');
    expect(await full.reached(third, 'completed')).toMatchObject({ result: 'elsewhere' });
    held.finish(2);
    await Promise.all([first, second].map((sent) => full.reached(sent, 'completed')));
  });

  it('serve all calls in turn as slots become free', async () => {
    const queue = await open({ TOOL_SLOTS: '2' });
    const sent = (await Promise.all(Array.from({ length: 4 }, () => queue.send('pure', 'once')))).flat();
    await begin(queue);
    for (let n = 1; n <= sent.length; n++) {
      const { finish } = await queue.handling(n);
      finish(n);
    }
    await eventually('all have ended', async () =>
      (await queue.rows(`SELECT 1 FROM tool_call WHERE status <> 'completed'`)).length === 0 ? true : undefined,
    );
  });
});
