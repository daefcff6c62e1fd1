import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { DatabaseUnavailable, newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { type JobState, openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { AmendRepository } from '../amend/amend.repository.js';
import { JobStarter } from '../start/job-starter.js';
import type { StartRequest } from '../start/start-request.js';
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
/** For jobs that only a sweep finds: it comes every half a lease. A machine that stalls loses such a lease, so nothing else is asked of it. */
const oftenSwept = { LEASE_MS: '400' };

describe('a worker', () => {
  let database: TestDatabase;
  /** Another process that only accepts jobs: its hints reach nobody else. */
  let door: TestJobs;
  let worker: TestJobs | undefined;

  beforeAll(async () => {
    database = await createTestDatabase();
    door = await openTestJobs(database);
  });

  afterEach(async () => {
    await worker?.app.get(Worker).stop(0);
    await worker?.close();
    worker = undefined;
  });

  afterAll(async () => {
    await door.close();
    await database.close();
  });

  const work = async (run: (run: JobRun) => Promise<JobOutcome>, env: Readonly<Record<string, string>> = {}) => {
    worker = await openTestJobs(database, { LEASE_MS: '600000', ...env });
    worker.handle(run);
    worker.app.get(Worker).start();
    return worker;
  };
  const start = async (changes: Partial<StartRequest> = {}) =>
    (await door.app.get(JobStarter).start(door.request(changes))).jobId;
  const state = async (jobId: string) => {
    const [row] = await door.rows<JobState & { error: unknown }>('SELECT * FROM job WHERE id = $1', [jobId]);
    if (row === undefined) throw new Error('no such job');
    return row;
  };
  /** The state of the job's queue message. */
  const messageOf = async (jobId: string) =>
    (
      await door.rows<{ state: string }>(
        `SELECT state FROM pgboss.job WHERE name = 'job.chat' AND data->>'jobId' = $1 ORDER BY created_on DESC LIMIT 1`,
        [jobId],
      )
    )[0]?.state;
  /** No later test runs these jobs. */
  const withdraw = async (ids: readonly string[]) => {
    await door.rows('DELETE FROM pgboss.job');
    await door.rows(`UPDATE job SET status = 'cancelled', finished_at = now() WHERE id = ANY($1)`, [ids]);
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

  it('claims a job whose row was locked when its message arrived, once the lock is released', async () => {
    const jobId = await start();
    const amends = door.app.get(AmendRepository);
    await amends.inWorkspace(door.workspaceId, async (client) => {
      await amends.lock(client, door.workspaceId, jobId);
      const { app } = await work(() => Promise.resolve(done));
      const claims = jest.spyOn(app.get(LeaseRepository), 'claim');
      const claimed: unknown = await eventually('somebody asked for the job', () => claims.mock.results[0]?.value);
      expect([claims.mock.calls[0]?.[0], claimed]).toEqual([
        [{ workspaceId: door.workspaceId, jobId }],
        { claimed: [], deferred: [] },
      ]);
    });
    expect(await ended(jobId)).toMatchObject({ status: 'completed', lease_epoch: 1 });
  });

  it('has pg-boss deliver a job again when its claim failed', async () => {
    const jobId = await start();
    const { app } = await work(() => Promise.resolve(done), { WORKER_SLOTS: '1' });
    jest.spyOn(app.get(LeaseRepository), 'claim').mockRejectedValueOnce(new Error('the database is away'));
    jest.spyOn(app.get(LeaseRepository), 'findRunnable').mockResolvedValue([]);
    expect(await ended(jobId)).toMatchObject({ status: 'completed', lease_epoch: 1 });
    await eventually('its message is completed', async () =>
      (await messageOf(jobId)) === 'completed' ? true : undefined,
    );
  });

  it('gives messages of jobs that it has no slot for back to pg-boss when it stops', async () => {
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
    await door.rows('DELETE FROM pgboss.job');
    await work(() => Promise.resolve(done), oftenSwept);
    for (const id of ids) expect(await ended(id)).toMatchObject({ status: 'completed' });
    const late = await start();
    await door.rows('DELETE FROM pgboss.job');
    expect(await ended(late)).toMatchObject({ status: 'completed' });
  });

  it('takes over what another has dropped, and parks what has stopped its worker too often', async () => {
    const [dropped, poison] = [await start(), await start()];
    for (const jobId of [dropped, ...Array.from({ length: 3 }, () => poison)]) {
      await door.claim(jobId);
      await door.expire(jobId);
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

  it('keeps a job for as long as its handler takes, however short the lease', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const jobId = await start();
    // Long enough that a busy machine renews it in time; the database clock tells when it was renewed.
    await work(() => promise.then(() => done), { LEASE_MS: '6000' });
    const first = await eventually('the lease was renewed twice', async () => {
      const [row] = await door.rows<{ renewed: boolean }>(
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
    ['was away', () => new DatabaseUnavailable(new Error('terminating connection'))],
    ['let it wait for too long', () => Object.assign(new Error('canceling statement'), { code: '55P03' })],
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
    await door.expire(jobId);
    await app.get(Worker).sweep();
    expect(await ended(jobId)).toMatchObject({ status: 'completed', attempts: 2 });
    expect(tried).toEqual([1, 2]);
  });

  it('gives its jobs back when it stops, without counting the attempt', async () => {
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
    // The commit that made it runnable again sent its message, too: it needs no sweep.
    expect(await messageOf(jobId)).toBe('created');
    await withdraw([jobId]);
  });

  it('does not even enter a job that stops the workers which only mean to close it', async () => {
    const jobId = await start();
    for (let i = 0; i < 4; i++) {
      await door.claim(jobId);
      await door.expire(jobId);
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

  it('fails a job whose handler throws, and runs the other jobs', async () => {
    const [bad, good] = [await start(), await start()];
    await work((run) => (run.job.jobId === bad ? Promise.reject(new Error('a bug')) : Promise.resolve(done)));
    expect(await ended(bad)).toMatchObject({ status: 'failed', reason: 'internal' });
    expect(await ended(good)).toMatchObject({ status: 'completed' });
  });

  it('moves the line of a thread in the order of acceptance, past jobs that failed or were cancelled', async () => {
    const wish = { thread: { ref: newId(), createTitle: 'T' }, createdBy: newId(), whenBusy: 'enqueue' } as const;
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push(await start(wish));
    const [, second = '', third = ''] = ids;
    await door.rows(`UPDATE job SET status = 'cancelled', finished_at = now() WHERE id = $1`, [third]);
    const ran: string[] = [];
    await work((run) => {
      ran.push(run.job.jobId);
      return run.job.jobId === second ? Promise.reject(new Error('a bug')) : Promise.resolve(done);
    });
    for (const id of ids) await ended(id);
    expect(ran).toEqual(ids.filter((id) => id !== third));
  });

  it('starts the next job of a thread queue when the process that should start it died', async () => {
    const wish = { thread: { ref: newId(), createTitle: 'T' }, createdBy: newId(), whenBusy: 'enqueue' } as const;
    const [first, second] = [await start(wish), await start(wish)];
    await door.rows(`UPDATE job SET status = 'completed', finished_at = now() WHERE id = $1`, [first]);
    await work(() => Promise.resolve(done), oftenSwept);
    expect(await ended(second)).toMatchObject({ status: 'completed', in_line: false });
  });
});
