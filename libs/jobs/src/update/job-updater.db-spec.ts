import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { endOf, openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import { LeaseLost } from '../jobs.errors.js';
import type { ClaimedJob } from '../run/lease.repository.js';
import { JobUpdater } from './job-updater.js';

const note = { type: 'warning', body: { code: 'note', text: 'from outside' } } as const;

describe('JobUpdater', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let updater: JobUpdater;
  let log: EventLogRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database, { DATABASE_POOL_SIZE: '20' });
    updater = jobs.app.get(JobUpdater);
    log = jobs.app.get(EventLogRepository);
  });

  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const claimed = async (): Promise<ClaimedJob> => {
    const [started] = await jobs.start(1);
    return jobs.claim(started?.jobId ?? '');
  };
  const state = async (jobId: string) => {
    const [row] = await jobs.rows<{ status: string; last_seq: number; answered: number; attempts: number }>(
      'SELECT status, last_seq, answered, attempts FROM job WHERE id = $1',
      [jobId],
    );
    return row;
  };
  const answer = (jobId: string) =>
    updater.update(jobs.workspaceId, jobId, (job) => {
      job.append(note);
      job.requeue('answered');
      return Promise.resolve(job.row.status);
    });
  const wait = (job: ClaimedJob, number: number) => {
    const events = [{ type: 'job-waiting', body: { interruptIds: [] } }] as const;
    return log.commit([writeOf(job, number, { events, move: { to: 'waiting', externalUpdates: 0 } })]);
  };

  it('appends the event, re-queues a waiting job and sends its queue message in one transaction', async () => {
    const job = await claimed();
    await wait(job, 1);
    expect(await state(job.jobId)).toMatchObject({ status: 'waiting', attempts: 0 });
    await jobs.rows('DELETE FROM pgboss.job');
    expect(await answer(job.jobId)).toBe('waiting');
    expect(await state(job.jobId)).toMatchObject({ status: 'queued', answered: 1, last_seq: 5 });
    const types = await jobs.rows<{ type: string }>('SELECT type FROM job_event WHERE job_id = $1 ORDER BY seq', [
      job.jobId,
    ]);
    expect(types.slice(2).map(({ type }) => type)).toEqual(['job-waiting', 'warning', 'job-requeued']);
    expect(await jobs.rows('SELECT 1 FROM pgboss.job')).toHaveLength(1);
  });

  it('makes a running job read its rows again before it waits', async () => {
    const job = await claimed();
    expect(await answer(job.jobId)).toBe('running');
    expect(await wait(job, 1)).toEqual([expect.any(LeaseLost)]);
    expect(await state(job.jobId)).toMatchObject({ status: 'running', answered: 1 });
  });

  it('loses no wake-up when an answer and a wait race', async () => {
    const work = await Promise.all(Array.from({ length: 60 }, () => claimed()));
    await Promise.all(work.flatMap((job) => [wait(job, 1), answer(job.jobId)]));
    const states = await Promise.all(work.map(({ jobId }) => state(jobId)));
    // A job that waits although it was answered is the lost wake-up.
    expect(states.filter((row) => row?.status === 'waiting')).toEqual([]);
    expect(states.every((row) => row?.status === 'queued' || row?.status === 'running')).toBe(true);
  });

  it('rolls everything back if the callback throws', async () => {
    const job = await claimed();
    const before = await state(job.jobId);
    const failing = updater.update(jobs.workspaceId, job.jobId, (held) => {
      held.append(note);
      return Promise.reject(new Error('no'));
    });
    await expect(failing).rejects.toThrow('no');
    expect(await state(job.jobId)).toEqual(before);
  });

  it('rejects an event for an ended job and finds no job of another workspace', async () => {
    const job = await claimed();
    await log.commit([endOf(job, 1)]);
    await expect(answer(job.jobId)).rejects.toThrow('has ended');
    expect(
      await updater.update('01990000-0000-7000-8000-000000000000', job.jobId, () => Promise.resolve(1)),
    ).toBeNull();
  });
});
