import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { DatabaseUnavailable, newId, PrismaService } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { type JobState, openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { JobQueue } from '../queue/job-queue.js';
import { JobStarter } from '../start/job-starter.js';
import type { StartRequest } from '../start/start-request.js';
import { ThreadQueueRepository } from '../thread-queue/thread-queue.repository.js';
import { JobUpdateRepository } from '../update/job-update.repository.js';
import type { JobOutcome } from './job-handler.js';
import type { JobRun } from './job-run.js';
import { JobRunner } from './job-runner.js';
import { LeaseRepository } from './lease.repository.js';
import { Worker } from './worker.js';

/** Runs until its worker stops. */
const stopped = (run: JobRun): Promise<JobOutcome> =>
  new Promise((resolve) => {
    run.signal.addEventListener('abort', () => {
      resolve({ status: 'released' });
    });
  });
const done: JobOutcome = { status: 'completed', reason: 'stop' };
/** For jobs that only a sweep finds, every half a lease. A slow machine loses such a short lease, so these tests depend on nothing else. */
const oftenSwept = { LEASE_MS: '400' };

describe('Worker', () => {
  let database: TestDatabase;
  /** Another process, which only accepts jobs; its hints do not leave the process. */
  let api: TestJobs;
  let worker: TestJobs | undefined;

  beforeAll(async () => {
    database = await createTestDatabase();
    api = await openTestJobs(database);
  });

  afterEach(async () => {
    await worker?.app.get(Worker).stop(0);
    await worker?.close();
    worker = undefined;
  });

  afterAll(async () => {
    await api.close();
    await database.close();
  });

  const work = async (run: (run: JobRun) => Promise<JobOutcome>, env: Readonly<Record<string, string>> = {}) => {
    worker = await openTestJobs(database, { LEASE_MS: '600000', ...env });
    worker.handle(run);
    worker.app.get(Worker).start();
    return worker;
  };
  const start = async (changes: Partial<StartRequest> = {}) =>
    (await api.app.get(JobStarter).start(api.request(changes))).jobId;
  const state = async (jobId: string) => {
    const [row] = await api.rows<JobState & { error: unknown }>('SELECT * FROM job WHERE id = $1', [jobId]);
    if (row === undefined) throw new Error('no such job');
    return row;
  };
  /** The state of the job's queue message. */
  const messageOf = async (jobId: string) =>
    (
      await api.rows<{ state: string }>(
        `SELECT state FROM pgboss.job WHERE name = 'job.chat' AND data->>'jobId' = $1 ORDER BY created_on DESC LIMIT 1`,
        [jobId],
      )
    )[0]?.state;
  /** Keeps later tests from running these jobs. */
  const withdraw = async (ids: readonly string[]) => {
    await api.rows('DELETE FROM pgboss.job');
    await api.rows(`UPDATE job SET status = 'cancelled', finished_at = now() WHERE id = ANY($1)`, [ids]);
  };
  const ended = (jobId: string) =>
    eventually(`job ${jobId} has ended`, async () => {
      const job = await state(jobId);
      return ['completed', 'failed', 'cancelled'].includes(job.status) ? job : undefined;
    });

  it('claims a job when its queue message arrives', async () => {
    await work(() => Promise.resolve(done));
    const jobId = await start();
    expect(await ended(jobId)).toMatchObject({ status: 'completed' });
    await eventually('its message is completed', async () =>
      (await messageOf(jobId)) === 'completed' ? true : undefined,
    );
  });

  it('claims a job after its hint, before pg-boss delivers its message', async () => {
    const { app } = await work(() => Promise.resolve(done));
    const jobId = await start();
    await api.rows(`UPDATE pgboss.job SET start_after = now() + interval '1 hour' WHERE data->>'jobId' = $1`, [jobId]);
    app.get(JobQueue).hint({ workspaceId: api.workspaceId, jobId, kind: 'chat' });
    expect(await ended(jobId)).toMatchObject({ status: 'completed', lease_epoch: 1 });
  });

  it('completes the message of a running job without another claim', async () => {
    const jobId = await start();
    await api.rows('DELETE FROM pgboss.job'); // before a worker can fetch the message
    const { promise, resolve } = Promise.withResolvers<JobOutcome>();
    const { app } = await work(() => promise);
    const claims = jest.spyOn(app.get(LeaseRepository), 'claim');
    app.get(JobQueue).hint({ workspaceId: api.workspaceId, jobId, kind: 'chat' });
    await eventually('it runs', async () => ((await state(jobId)).status === 'running' ? true : undefined));
    await api.app
      .get(PrismaService)
      .asWorker((client) =>
        client.$transaction((tx) =>
          api.app.get(JobQueue).send(tx, { workspaceId: api.workspaceId, jobId, kind: 'chat' }),
        ),
      );
    await eventually('its message is completed', async () =>
      (await messageOf(jobId)) === 'completed' ? true : undefined,
    );
    resolve(done);
    await ended(jobId);
    expect(claims).toHaveBeenCalledTimes(1);
  });

  it('claims a job whose row was locked when its message arrived once the lock is released', async () => {
    const jobId = await start();
    const updates = api.app.get(JobUpdateRepository);
    await updates.inWorkspace(api.workspaceId, async (client) => {
      await updates.lock(client, api.workspaceId, jobId);
      const { app } = await work(() => Promise.resolve(done));
      const claims = jest.spyOn(app.get(LeaseRepository), 'claim');
      const claimed: unknown = await eventually(
        'the worker tried to claim the job',
        () => claims.mock.results[0]?.value,
      );
      expect([claims.mock.calls[0]?.[0], claimed]).toEqual([
        [{ workspaceId: api.workspaceId, jobId }],
        { claimed: [], deferred: [] },
      ]);
    });
    expect(await ended(jobId)).toMatchObject({ status: 'completed', lease_epoch: 1 });
  });

  it('claims a job at the next delivery of its message when the first claim failed', async () => {
    const jobId = await start();
    const { app } = await work(() => Promise.resolve(done), { WORKER_SLOTS: '1' });
    jest.spyOn(app.get(LeaseRepository), 'claim').mockRejectedValueOnce(new Error('the database is away'));
    jest.spyOn(app.get(LeaseRepository), 'findRunnable').mockResolvedValue([]);
    expect(await ended(jobId)).toMatchObject({ status: 'completed', lease_epoch: 1 });
    await eventually('its message is completed', async () =>
      (await messageOf(jobId)) === 'completed' ? true : undefined,
    );
  });

  it('returns messages of jobs without a slot to pg-boss when it stops', async () => {
    const ids = [await start(), await start()];
    const { app } = await work((run) => stopped(run), { WORKER_SLOTS: '1' });
    await eventually('one runs', async () =>
      (await Promise.all(ids.map(state))).some(({ status }) => status === 'running') ? true : undefined,
    );
    await app.get(Worker).stop(0);
    expect(await Promise.all(ids.map(messageOf))).not.toContain('active');
    expect(await Promise.all(ids.map(messageOf))).not.toContain('completed');
    expect(await Promise.all(ids.map(async (id) => (await state(id)).status))).toEqual(['queued', 'queued']);
    await withdraw(ids);
  });

  it('claims a job without a queue message in the next sweep', async () => {
    const ids = [await start(), await start()];
    await api.rows('DELETE FROM pgboss.job');
    await work(() => Promise.resolve(done), oftenSwept);
    for (const id of ids) expect(await ended(id)).toMatchObject({ status: 'completed' });
    const late = await start();
    await api.rows('DELETE FROM pgboss.job');
    expect(await ended(late)).toMatchObject({ status: 'completed' });
  });

  it('claims a job without a queue message also when the queues of threads cannot be swept', async () => {
    const jobId = await start();
    await api.rows('DELETE FROM pgboss.job');
    const stuck = jest.spyOn(ThreadQueueRepository.prototype, 'findStuck').mockRejectedValue(new Error('timeout'));
    await work(() => Promise.resolve(done), oftenSwept);
    expect(await ended(jobId)).toMatchObject({ status: 'completed' });
    stuck.mockRestore();
  });

  it('takes over jobs of a lost worker and fails one that stopped its workers too often', async () => {
    const [dropped, poison] = [await start(), await start()];
    for (const jobId of [dropped, ...Array.from({ length: 3 }, () => poison)]) {
      await api.claim(jobId);
      await api.expire(jobId);
    }
    const ran: string[] = [];
    await work(
      (run) => {
        if (run.signal.aborted) return Promise.reject(new Error('stopped before it began'));
        ran.push(run.job.jobId);
        return Promise.resolve(done);
      },
      { MAX_ATTEMPTS: '3' },
    );
    expect(await ended(dropped)).toMatchObject({ status: 'completed', attempts: 2 });
    expect(await ended(poison)).toMatchObject({ status: 'failed', reason: 'poison', error: { code: 'poison' } });
    expect(ran).toEqual([dropped]);
  });

  it('renews a short lease until the handler ends', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const jobId = await start();
    // Long enough that a busy machine renews it in time; the database clock shows when it was renewed.
    await work(() => promise.then(() => done), { LEASE_MS: '6000' });
    const first = await eventually('the lease was renewed twice', async () => {
      const [row] = await api.rows<{ renewed: boolean }>(
        `SELECT lease_until > started_at + interval '9900 ms' AS renewed FROM job WHERE id = $1`,
        [jobId],
      );
      return row?.renewed === true ? state(jobId) : undefined;
    });
    resolve(undefined);
    expect(first.lease_epoch).toBe(1);
    expect(await ended(jobId)).toMatchObject({ status: 'completed', lease_epoch: 1 });
  });

  it.each([
    ['was unavailable', () => new DatabaseUnavailable(new Error('terminating connection'))],
    ['made it wait for too long', () => Object.assign(new Error('canceling statement'), { code: '55P03' })],
  ])('does not fail a job whose handler stopped because the database %s', async (_, failure) => {
    const jobId = await start();
    const tried: number[] = [];
    const run = ({ job }: JobRun) => {
      if (tried.push(job.epoch) === 1) throw failure();
      return Promise.resolve(done);
    };
    const { app } = await work(run, { WORKER_SLOTS: '1' });
    await eventually('it was tried, and left', () =>
      tried.length > 0 && app.get(JobRunner).freeSlots === 1 ? true : undefined,
    );
    expect(await state(jobId)).toMatchObject({ status: 'running', attempts: 1 });
    await api.expire(jobId);
    await app.get(Worker).sweep();
    expect(await ended(jobId)).toMatchObject({ status: 'completed', attempts: 2 });
    expect(tried).toEqual([1, 2]);
  });

  it('releases its jobs when it stops without counting the attempt', async () => {
    const jobId = await start();
    const { app } = await work((run) => {
      const { promise, resolve } = Promise.withResolvers<JobOutcome>();
      run.signal.addEventListener('abort', () => {
        resolve({ status: 'released' });
      });
      return promise;
    });
    await eventually('it runs', async () => ((await state(jobId)).status === 'running' ? true : undefined));
    await app.get(Worker).stop(0);
    expect(await state(jobId)).toMatchObject({ status: 'queued', attempts: 0, lease_epoch: 1 });
    // The commit that released the job also sent its message, so it needs no sweep.
    expect(await messageOf(jobId)).toBe('created');
    await withdraw([jobId]);
  });

  it('fails a job without running it if it stopped even the workers that only close it', async () => {
    const jobId = await start();
    for (let i = 0; i < 4; i++) {
      await api.claim(jobId);
      await api.expire(jobId);
    }
    const entered: string[] = [];
    await work(
      (run) => {
        entered.push(run.job.jobId);
        return Promise.resolve(done);
      },
      { MAX_ATTEMPTS: '3' },
    );
    expect(await ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'poison' } });
    expect(entered).not.toContain(jobId);
  });

  it('fails a job whose handler throws and runs the other jobs', async () => {
    const [bad, good] = [await start(), await start()];
    await work((run) => (run.job.jobId === bad ? Promise.reject(new Error('a bug')) : Promise.resolve(done)));
    expect(await ended(bad)).toMatchObject({ status: 'failed', reason: 'internal' });
    expect(await ended(good)).toMatchObject({ status: 'completed' });
  });

  it('runs the jobs of a thread queue in order of acceptance, past failed and cancelled ones', async () => {
    const options = { thread: { ref: newId(), createTitle: 'T' }, createdBy: newId(), whenBusy: 'enqueue' } as const;
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push(await start(options));
    const [, second = '', third = ''] = ids;
    await api.rows(`UPDATE job SET status = 'cancelled', finished_at = now() WHERE id = $1`, [third]);
    const ran: string[] = [];
    await work((run) => {
      ran.push(run.job.jobId);
      return run.job.jobId === second ? Promise.reject(new Error('a bug')) : Promise.resolve(done);
    });
    for (const id of ids) await ended(id);
    expect(ran).toEqual(ids.filter((id) => id !== third));
  });

  it('starts the next job of a thread queue when the process that should start it died', async () => {
    const options = { thread: { ref: newId(), createTitle: 'T' }, createdBy: newId(), whenBusy: 'enqueue' } as const;
    const [first, second] = [await start(options), await start(options)];
    await api.rows(`UPDATE job SET status = 'completed', finished_at = now() WHERE id = $1`, [first]);
    await work(() => Promise.resolve(done), oftenSwept);
    expect(await ended(second)).toMatchObject({ status: 'completed', in_line: false });
  });
});
