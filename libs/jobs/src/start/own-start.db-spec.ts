import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { BUS, type Bus, newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { type JobState, openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import type { JobOutcome } from '../run/job-handler.js';
import type { JobRun } from '../run/job-run.js';
import { JobRunner } from '../run/job-runner.js';
import { type ClaimedJob, LeaseRepository } from '../run/lease.repository.js';
import { Worker } from '../run/worker.js';
import { JobStarter } from './job-starter.js';
import { NewJobRepository } from './new-job.repository.js';
import { StartRepository } from './start.repository.js';
import type { StartRequest } from './start-request.js';

const done: JobOutcome = { status: 'completed', reason: 'stop' };

describe('a job that is accepted by a process with a free slot', () => {
  let database: TestDatabase;
  /** A process that only accepts jobs. */
  let api: TestJobs;
  let own: TestJobs | undefined;
  /** What a handler waits for: opened after each test, also after one that failed. */
  let gate = Promise.withResolvers<JobOutcome>();

  beforeAll(async () => {
    database = await createTestDatabase();
    // Its claims stay claimed until the last test.
    api = await openTestJobs(database, { LEASE_MS: '600000' });
  });

  afterEach(async () => {
    gate.resolve(done);
    gate = Promise.withResolvers();
    await own?.app.get(Worker).stop(0);
    await own?.close();
    own = undefined;
    await api.rows('DELETE FROM pgboss.job');
  });

  afterAll(async () => {
    await api.close();
    await database.close();
  });

  /** A process that accepts and runs jobs. */
  const work = async (run: (run: JobRun) => Promise<JobOutcome>, env: Readonly<Record<string, string>> = {}) => {
    const jobs = await openTestJobs(database, { LEASE_MS: '600000', ...env });
    own = jobs;
    jobs.handle(run);
    jobs.app.get(Worker).start();
    const start = (changes: Partial<StartRequest> = {}) => jobs.app.get(JobStarter).start(jobs.request(changes));
    return { ...jobs, start, worker: jobs.app.get(Worker), claims: jest.spyOn(jobs.app.get(LeaseRepository), 'claim') };
  };
  const state = async (jobId: string) => {
    const [row] = await api.rows<JobState>('SELECT * FROM job WHERE id = $1', [jobId]);
    return row;
  };
  const ended = (jobId: string) =>
    eventually(`job ${jobId} has ended`, async () => {
      const job = await state(jobId);
      return job !== undefined && ['completed', 'failed', 'cancelled'].includes(job.status) ? job : undefined;
    });
  const messages = async () => JSON.stringify(await api.rows(`SELECT data FROM pgboss.job WHERE name = 'job.chat'`));

  it('begins with the commit that accepts it, without a queue message or a claim', async () => {
    const { app, start, claims } = await work(() => Promise.resolve(done));
    const hints: (string | undefined)[] = [];
    app.get<Bus>(BUS).subscribe('job-events', ({ status }) => hints.push(status));
    const { jobId } = await start();
    expect(await ended(jobId)).toMatchObject({ status: 'completed', lease_epoch: 1, last_seq: 3 });
    expect(claims).not.toHaveBeenCalled();
    expect(await messages()).not.toContain(jobId);
    await eventually('its end was hinted at', () => (hints.includes('completed') ? true : undefined));
    expect(hints).not.toContain('queued');
  });

  it('gets the row, the log and the handler input of a claimed job', async () => {
    const about = {
      workflow: { id: newId(), version: 3 },
      keyCipher: Buffer.from('sealed'),
      createdBy: newId(),
      format: 2,
    };
    const options = {
      ...about,
      thread: { ref: newId(), createTitle: 'T' },
      input: { messages: [], b: undefined, a: [1.5] },
    };
    const seen = Promise.withResolvers<ClaimedJob>();
    const { start, workspaceId } = await work(({ job }) => {
      seen.resolve({ ...job });
      return gate.promise;
    });
    const mine = await start(options);
    const theirs = await api.app
      .get(JobStarter)
      .start({ ...api.request(options), thread: { ...options.thread, ref: newId() } });
    const claimed = await api.claim(theirs.jobId);
    const instant = { createdAt: expect.any(Number), waitedMs: expect.any(Number), remainingMs: expect.any(Number) };
    const { jobId, messageId, threadId } = await seen.promise;
    expect(await seen.promise).toEqual({
      ...claimed,
      jobId,
      messageId,
      threadId,
      ...instant,
      workspaceId,
    });
    expect([jobId, messageId, threadId]).toEqual([mine.jobId, mine.messageId, mine.threadId]);

    const sql = `SELECT kind, format, in_line, status, reason, lease_epoch, lease_writes, attempts, restarts, rounds, tool_calls, last_seq,
        worked_ms, answered, content_length, model, input, key_cipher, workflow_id, workflow_version, created_by, finished_at,
        started_at IS NOT NULL AS started, lease_until > clock_timestamp() + interval '25 s' AS held,
        deadline_at - started_at AS time,
        (SELECT json_agg(json_build_array(seq, epoch, attempt, type, body - 'threadId' - 'messageId') ORDER BY seq)
           FROM job_event e WHERE e.job_id = j.id) AS log
      FROM job j WHERE id = $1`;
    expect(await api.rows(sql, [jobId])).toEqual(await api.rows(sql, [theirs.jobId]));
    gate.resolve(done);
    await ended(jobId);
  });

  it('waits in the queue when all slots are taken', async () => {
    const { start } = await work(() => gate.promise, { WORKER_SLOTS: '1' });
    const first = await start();
    const second = await start();
    expect(await messages()).toContain(second.jobId);
    expect([(await state(first.jobId))?.status, (await state(second.jobId))?.status]).toEqual(['running', 'queued']);
    gate.resolve(done);
    for (const { jobId } of [first, second]) expect(await ended(jobId)).toMatchObject({ status: 'completed' });
  });

  it('does not start before jobs that were accepted earlier', async () => {
    const ran: string[] = [];
    const run = ({ job }: JobRun) => {
      ran.push(job.jobId);
      return Promise.resolve(done);
    };
    const { start } = await work(run, { WORKER_SLOTS: '1' });
    const ids: string[] = [];
    for (let i = 0; i < 12; i++) ids.push((await start()).jobId);
    for (const jobId of ids) await ended(jobId);
    expect(ran).toEqual(ids);
  });

  it('advances its thread queue at its end, also if the client writes the thread id in upper case', async () => {
    const seen: (string | null)[] = [];
    const { start } = await work(({ job }) => {
      seen.push(job.threadId);
      return gate.promise;
    });
    const options = { thread: { ref: newId().toUpperCase(), createTitle: 'T' }, createdBy: newId() };
    const first = await start(options);
    const second = await start({ ...options, whenBusy: 'enqueue' });
    expect(await state(second.jobId)).toMatchObject({ status: 'queued', in_line: true });
    gate.resolve(done);
    for (const { jobId } of [first, second]) expect(await ended(jobId)).toMatchObject({ status: 'completed' });
    expect(seen).toEqual([options.thread.ref.toLowerCase(), options.thread.ref.toLowerCase()]);
  });

  it('releases its slot when the insert fails', async () => {
    const { start } = await work(() => Promise.resolve(done), { WORKER_SLOTS: '1' });
    const { jobId } = await start();
    await expect(start({ jobId })).rejects.toThrow();
    expect(await ended((await start()).jobId)).toMatchObject({ status: 'completed' });
  });

  it('uses no more slots than exist and releases all of them when batches of starts are partly refused', async () => {
    const ran: string[] = [];
    let [active, most] = [0, 0];
    const { app, start } = await work(
      async ({ job }) => {
        ran.push(job.jobId);
        most = Math.max(most, (active += 1));
        await new Promise(setImmediate);
        active -= 1;
        return done;
      },
      { WORKER_SLOTS: '2' },
    );
    const { jobId: taken } = await start();
    const accepted = [taken];
    for (let i = 1; i <= 10; i++) {
      // The refused start fails the batch, so each start is tried again alone.
      const requests: Partial<StartRequest>[] = [...Array.from({ length: i % 5 }, () => ({})), { jobId: taken }, {}];
      const ends = await Promise.allSettled(requests.map((request) => start(request)));
      expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1);
      for (const end of ends) if (end.status === 'fulfilled') accepted.push(end.value.jobId);
    }
    for (const jobId of accepted) await ended(jobId);
    expect(ran.toSorted()).toEqual(accepted.toSorted());
    expect(most).toBeLessThanOrEqual(2);
    const runner = app.get(JobRunner);
    await eventually('all slots are free', () => (runner.freeSlots === 2 ? true : undefined));
  });

  it('reserves no slot while it waits for the lock of its workspace', async () => {
    const { app, start, workspaceId } = await work(() => Promise.resolve(done), { WORKER_SLOTS: '1' });
    const asked = jest.spyOn(app.get(StartRepository), 'facts');
    const { starting } = await database.postgres.withWorkspaceSql(workspaceId, async (client) => {
      await client.query('SELECT FROM workspace WHERE id = $1 FOR NO KEY UPDATE', [workspaceId]);
      const starting = start();
      await eventually('it waits', () => (asked.mock.calls.length > 0 ? true : undefined));
      expect(app.get(JobRunner).freeSlots).toBe(1);
      return { starting };
    });
    const { jobId } = await starting;
    expect(await ended(jobId)).toMatchObject({ status: 'completed' });
  });

  it('releases its slot when the insert cannot be built', async () => {
    const { app, start } = await work(() => Promise.resolve(done), { WORKER_SLOTS: '2' });
    jest.spyOn(app.get(NewJobRepository), 'insertionUnlessKnown').mockImplementationOnce(() => {
      throw new RangeError('Invalid string length');
    });
    await expect(start()).rejects.toThrow('Invalid string length');
    expect(app.get(JobRunner).freeSlots).toBe(2);
  });

  it('returns to the queue when its worker stops while it is being accepted', async () => {
    const jobs = await work(
      (run) =>
        new Promise((resolve) => {
          run.signal.addEventListener('abort', () => {
            resolve({ status: 'released' });
          });
        }),
    );
    const jobId = newId();
    const { workspaceId } = jobs;
    const asked = jest.spyOn(jobs.app.get(NewJobRepository), 'insertionUnlessKnown');
    const { starting } = await database.postgres.withWorkspaceSql(workspaceId, async (client) => {
      // An insert with the same id waits until this transaction ends.
      await client.query('SAVEPOINT before');
      await client.query(
        `INSERT INTO job (workspace_id, id, kind, principal, model, input) VALUES ($1, $2, 'chat', 'p', 'm', '{}')`,
        [workspaceId, jobId],
      );
      const accepting = jobs.start({ jobId });
      await eventually('it is being accepted', () => (asked.mock.calls.length > 0 ? true : undefined));
      const stopping = jobs.worker.stop(0);
      await client.query('ROLLBACK TO before');
      return { starting: Promise.all([accepting, stopping]) };
    });
    await starting;
    expect(jobs.claims).not.toHaveBeenCalled();
    expect(await state(jobId)).toMatchObject({ status: 'queued', attempts: 0, lease_epoch: 1 });
  });
});
