import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { AppError, newId, type Scope } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { JobStopper } from '../cancel/job-stopper.js';
import { type CommitPart, partRow } from '../events/commit-part.js';
import { JobTelemetry } from '../job.telemetry.js';
import { StartConditionFailed } from '../jobs.errors.js';
import { JobStarter } from './job-starter.js';
import { NewJobRepository } from './new-job.repository.js';
import { StartRepository } from './start.repository.js';
import type { StartRequest } from './start-request.js';

const never = (): never => {
  throw new Error('there are two');
};

describe('JobStarter', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  /** Two processes that accept jobs; only the database coordinates their starts. */
  let other: TestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
    other = await openTestJobs(database);
  });

  afterAll(async () => {
    await other.close();
    await jobs.close();
    await database.close();
  });

  const starters = () => [jobs.app.get(JobStarter), other.app.get(JobStarter)];
  /** A workspace that refuses starts over its caps. */
  const workspace = async (maxJobs = 1_000, maxJobsPerUser = maxJobs): Promise<Scope> => {
    const workspaceId = newId();
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(
        `INSERT INTO workspace (id, name, max_jobs, max_jobs_per_user, when_full) VALUES ($1, $2, $3, $4, 'reject')`,
        [workspaceId, 'Test', maxJobs, maxJobsPerUser],
      ),
    );
    return { workspaceId, principal: 'system', userId: null, where: () => ({}) };
  };
  const startAll = async (requests: readonly StartRequest[]) => {
    const both = starters();
    const ends = await Promise.allSettled(requests.map((request, i) => (both[i % 2] ?? never()).start(request)));
    return ends.map((end) =>
      end.status === 'fulfilled' ? 'started' : end.reason instanceof AppError ? end.reason.code : String(end.reason),
    );
  };
  const jobsOf = (workspaceId: string) =>
    jobs.rows<{ id: string; status: string; in_line: boolean }>('SELECT * FROM job WHERE workspace_id = $1', [
      workspaceId,
    ]);

  it('logs the end of a queued job that a start supersedes', async () => {
    const { workspaceId } = await workspace();
    const [starter = never()] = starters();
    const own = { workspaceId, createdBy: newId(), thread: { ref: newId(), createTitle: 'T' } };
    const { jobId } = await starter.start(jobs.request(own));
    const logged = jest.spyOn(jobs.app.get(JobTelemetry).logger, 'info');
    await starter.start(jobs.request({ ...own, whenBusy: 'interrupt' }));
    const details = { workspace_id: workspaceId, job_id: jobId, kind: 'chat', status: 'cancelled', rounds: 0 };
    expect(logged.mock.calls).toEqual([[details, 'background_job_finished']]);
    logged.mockRestore();
  });

  it('accepts two of eight concurrent starts when two are allowed', async () => {
    const { workspaceId } = await workspace(2);
    const ends = await startAll(Array.from({ length: 8 }, () => jobs.request({ workspaceId })));
    expect(ends.filter((end) => end === 'started')).toHaveLength(2);
    expect(ends.filter((end) => end === 'job_limit_reached')).toHaveLength(6);
    expect(await jobsOf(workspaceId)).toHaveLength(2);
  });

  it("accepts concurrent starts up to each user's cap", async () => {
    const { workspaceId } = await workspace(1_000, 2);
    const people = [newId(), newId(), newId()];
    const newChat = (createdBy: string) =>
      jobs.request({ workspaceId, createdBy, thread: { ref: newId(), isNew: true, createTitle: 'T' } });
    const facts = jest.spyOn(jobs.app.get(StartRepository), 'facts');
    expect(await jobs.app.get(JobStarter).start(newChat(newId()))).toMatchObject({ replayed: false });
    expect(facts).not.toHaveBeenCalled(); // one round trip to the database
    const ends = await startAll(people.flatMap((person) => Array.from({ length: 4 }, () => newChat(person))));
    expect(ends.filter((end) => end === 'started')).toHaveLength(6);
    expect(ends.filter((end) => end === 'job_limit_reached')).toHaveLength(6);
    const owners = await jobs.rows<{ jobs: number }>(
      'SELECT count(*)::int AS jobs FROM job WHERE workspace_id = $1 AND created_by = ANY($2) GROUP BY created_by',
      [workspaceId, people],
    );
    expect(owners.map((owner) => owner.jobs)).toEqual([2, 2, 2]);
  });

  it('refuses only the starts with the condition that failed, and writes the other starts together', async () => {
    const { workspaceId } = await workspace();
    const part: CommitPart<readonly [string, string, boolean]> = {
      name: 'allowed',
      columns: [
        ['workspace_id', 'uuid'],
        ['job_id', 'uuid'],
        ['is_allowed', 'boolean'],
      ],
      sql: (rows) => `SELECT 1 FROM ${rows} WHERE is_allowed`,
    };
    const request = (isAllowed?: boolean, createTitle?: string) => {
      const thread = createTitle === undefined ? null : { ref: newId(), createTitle };
      const { jobId, ...rest } = jobs.request({ workspaceId, thread, createdBy: newId() });
      const condition = isAllowed === undefined ? {} : { condition: partRow(part, [workspaceId, jobId, isAllowed]) };
      return { jobId, ...rest, ...condition };
    };
    const starter = jobs.app.get(JobStarter);
    const inserts = jest.spyOn(jobs.app.get(NewJobRepository), 'insertionUnlessKnown');
    const requests = [request(), request(false), request(), request(true), request()];
    const ends = await Promise.allSettled(requests.map((each) => starter.start(each)));
    expect(inserts.mock.calls.map(([, batch]) => batch.length)).toEqual([5, 3]);
    inserts.mockRestore();
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']);
    const own = jobs.request({ workspaceId });
    const extraRows = [partRow({ ...part, name: 'unwritable' }, [workspaceId, own.jobId, false])];
    const unwritable = { ...own, extraRows };
    const [first, second] = await Promise.allSettled([request(false), unwritable].map((each) => starter.start(each)));
    expect(first).toMatchObject({ reason: expect.any(StartConditionFailed) });
    expect(second).toMatchObject({ reason: { message: 'part unwritable of the commit did not match its rows' } });
    expect(await startAll([request(true), request(true, 'T')])).toEqual(['started', 'started']);
    await expect(starter.start(request(false, 'T'))).rejects.toThrow(StartConditionFailed);
    expect(await jobsOf(workspaceId)).toHaveLength(5);
  });

  it('writes all starts of a batch but the two whose rows cannot be written, with one transaction at a time', async () => {
    const { workspaceId } = await workspace();
    const part: CommitPart<readonly [string, string]> = {
      name: 'never-written',
      columns: [
        ['workspace_id', 'uuid'],
        ['job_id', 'uuid'],
      ],
      sql: (rows) => `SELECT 1 FROM ${rows} WHERE false`,
    };
    const requests = Array.from({ length: 64 }, (_, i) => {
      const request = jobs.request({ workspaceId });
      return i === 5 || i === 40 ? { ...request, extraRows: [partRow(part, [workspaceId, request.jobId])] } : request;
    });
    const repository = jobs.app.get(StartRepository);
    const insert = repository.insertOptimistically.bind(repository);
    const inWorkspace = repository.inWorkspace.bind(repository);
    let [running, most, transactions] = [0, 0, 0];
    const counted = async <T>(work: () => Promise<T>) => {
      most = Math.max(most, ++running);
      transactions += 1;
      return work().finally(() => (running -= 1));
    };
    const spies = [
      jest.spyOn(repository, 'insertOptimistically').mockImplementation((...given) => counted(() => insert(...given))),
      jest
        .spyOn(repository, 'inWorkspace')
        .mockImplementation((id, work) => counted(() => inWorkspace(id, work) as Promise<never>)),
    ];
    const starter = jobs.app.get(JobStarter);
    const ends = await Promise.allSettled(requests.map((request) => starter.start(request)));
    for (const spy of spies) spy.mockRestore();
    expect(ends.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))).toEqual([5, 40]);
    expect(await jobsOf(workspaceId)).toHaveLength(62);
    expect(most).toBe(1);
    expect(transactions).toBeLessThan(2 * 2 * Math.log2(64) + 4);
  });

  it('refuses all starts of a workspace that stays locked after one attempt, and accepts those of others', async () => {
    const { workspaceId } = await workspace();
    const free = await workspace();
    const starter = jobs.app.get(JobStarter);
    const attempts = jest.spyOn(jobs.app.get(StartRepository), 'inWorkspace');
    const ends = await database.postgres.withWorkspaceSql(workspaceId, async (client) => {
      await client.query('SELECT 1 FROM workspace WHERE id = $1 FOR UPDATE', [workspaceId]);
      const locked = Promise.allSettled(Array.from({ length: 40 }, () => starter.start(jobs.request({ workspaceId }))));
      const others = Array.from({ length: 20 }, () => starter.start(jobs.request({ workspaceId: free.workspaceId })));
      expect(await Promise.all(others)).toHaveLength(20);
      return locked;
    });
    expect(ends).toEqual(
      ends.map(() => ({ status: 'rejected', reason: expect.objectContaining({ code: 'start_in_flight' }) })),
    );
    expect(attempts.mock.calls.filter(([id]) => id === workspaceId)).toHaveLength(1);
    attempts.mockRestore();
    expect(await startAll([jobs.request({ workspaceId })])).toEqual(['started']);
  });

  it('refuses all starts of a batch whose statement timed out, after one attempt', async () => {
    const { workspaceId } = await workspace();
    const repository = jobs.app.get(StartRepository);
    const timedOut = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
    const attempts = jest.spyOn(repository, 'insertOptimistically').mockRejectedValue(timedOut);
    const starter = jobs.app.get(JobStarter);
    const requests = Array.from({ length: 8 }, () => {
      const thread = { ref: newId(), isNew: true, createTitle: 'T' };
      return jobs.request({ workspaceId, createdBy: newId(), thread });
    });
    const ends = await Promise.allSettled(requests.map((request) => starter.start(request)));
    expect(ends.map(({ status }) => status)).toEqual(ends.map(() => 'rejected'));
    expect(attempts).toHaveBeenCalledTimes(1);
    attempts.mockRestore();
  });

  it('accepts one of twenty concurrent starts in a thread that rejects when busy', async () => {
    const { workspaceId } = await workspace();
    const ref = newId();
    const createdBy = newId();
    const thread = { ref, createTitle: 'T' };
    const ends = await startAll(Array.from({ length: 20 }, () => jobs.request({ workspaceId, createdBy, thread })));
    expect(ends.toSorted()).toEqual(['started', ...Array.from({ length: 19 }, () => 'thread_busy')]);
    expect(await jobsOf(workspaceId)).toHaveLength(1);
  });

  it('sends a message for each runnable job and none for a job in a thread queue', async () => {
    const { workspaceId } = await workspace();
    const thread = { ref: newId(), createTitle: 'T' };
    const options = { thread, createdBy: newId(), whenBusy: 'enqueue' } as const;
    const ends = await startAll(Array.from({ length: 3 }, () => jobs.request({ workspaceId, ...options })));
    const alone = await startAll(Array.from({ length: 5 }, () => jobs.request({ workspaceId })));
    expect([...ends, ...alone]).toEqual(Array.from({ length: 8 }, () => 'started'));
    const messages = await jobs.rows<{ id: string }>(
      `SELECT data->>'jobId' AS id FROM pgboss.job WHERE name = 'job.chat' AND data->>'workspaceId' = $1::text`,
      [workspaceId],
    );
    const runnable = (await jobsOf(workspaceId)).filter((job) => !job.in_line);
    expect(runnable).toHaveLength(6);
    expect(messages.map(({ id }) => id).toSorted()).toEqual(runnable.map(({ id }) => id).toSorted());
  });

  it('queues at most ten jobs behind the active one of a thread', async () => {
    const { workspaceId } = await workspace();
    const options = { thread: { ref: newId(), createTitle: 'T' }, createdBy: newId(), whenBusy: 'enqueue' } as const;
    const ends = await startAll(Array.from({ length: 14 }, () => jobs.request({ workspaceId, ...options })));
    expect(ends.filter((end) => end === 'started')).toHaveLength(11);
    expect(ends.filter((end) => end === 'thread_busy')).toHaveLength(3);
    expect((await jobsOf(workspaceId)).filter((job) => !job.in_line)).toHaveLength(1);
  });

  it('creates one job when 20 concurrent starts in two processes share an idempotency key', async () => {
    const { workspaceId } = await workspace();
    const both = starters();
    const idempotency = { key: 'k', requestHash: 'ab' };
    const started = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (both[i % 2] ?? never()).start(jobs.request({ workspaceId, idempotency }))),
    );
    expect(new Set(started.map((job) => job.jobId)).size).toBe(1);
    expect(started.filter((job) => !job.replayed)).toHaveLength(1);
    const changed = jobs.request({ workspaceId, idempotency: { key: 'k', requestHash: 'cd' } });
    expect(await startAll([changed])).toEqual(['idempotency_key_mismatch']);
  });

  it('lets exactly one win when a start and a cancel of its key race, in 60 runs', async () => {
    const scope = await workspace();
    const { workspaceId } = scope;
    for (let i = 0; i < 60; i++) {
      const idempotency = { key: `race ${i}`, requestHash: 'ab' };
      const go = [
        async () => (await startAll([jobs.request({ workspaceId, idempotency })]))[0],
        async () => (await other.app.get(JobStopper).stopAdmission(scope, `race ${i}`)).state,
      ];
      const order = i % 2 === 0 ? go : go.toReversed();
      const answers = new Set(await Promise.all(order.map((run) => run())));
      const marked = answers.has('cancel_requested') && answers.has('admission_cancelled');
      const stopped = answers.has('started') && answers.has('aborted');
      expect([...answers, marked !== stopped]).toContain(true);
    }
    const alive = (await jobsOf(workspaceId)).filter(({ status }) => status !== 'cancelled');
    expect(alive).toEqual([]);
  });

  it('keeps refusing an idempotency key that was cancelled before its start', async () => {
    const scope = await workspace();
    const { workspaceId } = scope;
    const idempotency = { key: 'k', requestHash: 'ab' };
    expect(await jobs.app.get(JobStopper).stopAdmission(scope, 'k')).toEqual({
      state: 'cancel_requested',
      jobId: null,
    });
    const request = () => jobs.request({ workspaceId, idempotency });
    expect(await startAll([request(), request()])).toEqual(['admission_cancelled', 'admission_cancelled']);
    expect(await jobsOf(workspaceId)).toEqual([]);
  });

  it('locks a thread that another transaction created while the start waited for the workspace', async () => {
    const { workspaceId } = await workspace();
    const createdBy = newId();
    const repository = jobs.app.get(StartRepository);
    const request = jobs.request({ workspaceId, createdBy, thread: { ref: newId() } });
    const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    let facts: Promise<unknown> = Promise.resolve();
    let isLocked: boolean | undefined;
    await database.postgres.withWorkspaceSql(workspaceId, async (client) => {
      await client.query('SELECT 1 FROM workspace WHERE id = $1 FOR NO KEY UPDATE', [workspaceId]);
      facts = repository.inWorkspace(workspaceId, async (tx) => {
        const found = await repository.facts(tx, workspaceId, [request]);
        const free = await database.prisma.withWorkspace(
          { workspaceId },
          (other) => other.$queryRaw<object[]>`SELECT 1 FROM thread FOR NO KEY UPDATE SKIP LOCKED`,
        );
        isLocked = found?.threads.size === 1 && free.length === 0;
      });
      while ((await database.postgres.api.query(waits)).rowCount === 0);
      await client.query(`INSERT INTO thread (workspace_id, id, title, created_by) VALUES ($1, $2, 'T', $3)`, [
        workspaceId,
        request.thread?.ref,
        createdBy,
      ]);
    });
    await facts;
    expect(isLocked).toBe(true);
  });

  it('sends the queue message in the statement that inserts the job, in six round trips for a follow-up', async () => {
    const { workspaceId } = await workspace();
    const createdBy = newId();
    const thread = { ref: newId() };
    const asks = jobs.request({
      workspaceId,
      createdBy,
      thread,
      messageClientId: 'm',
      idempotency: { key: 'k', requestHash: 'ab' },
    });
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(`INSERT INTO thread (workspace_id, id, title, created_by) VALUES ($1, $2, 'T', $3)`, [
        workspaceId,
        thread.ref,
        createdBy,
      ]),
    );
    const connection = await jobs.platform.postgres.api.connect();
    connection.release();
    const query = jest.spyOn(Object.getPrototypeOf(connection) as typeof connection, 'query');
    await jobs.app.get(JobStarter).start(asks);
    const { calls, contexts } = query.mock;
    const [session] = contexts.filter((_, i) => JSON.stringify(calls[i]).includes('INSERT INTO job '));
    const statements = contexts.filter((context) => context === session).length;
    query.mockRestore();
    expect(statements).toBe(6); // BEGIN, the workspace, the locks, the facts, the insertion, COMMIT
    expect(await jobs.rows(`SELECT data FROM pgboss.job WHERE id = $1`, [asks.jobId])).toEqual([
      { data: { workspaceId, jobId: asks.jobId } },
    ]);
  });

  it('keeps no workspace batch after all starts have returned', () => {
    expect(jobs.app.get(JobStarter).starting).toBe(0);
  });
});
