import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { JobStopper } from '../cancel/job-stopper.js';
import { LeaseRepository } from '../run/lease.repository.js';
import { JobStarter } from '../start/job-starter.js';
import type { StartRequest } from '../start/start-request.js';
import { DelayedJobs } from './delayed-jobs.js';
import { ThreadQueue } from './thread-queue.js';

describe('DelayedJobs', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  const hourMs = 3_600_000;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
  });

  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const start = async (change: Partial<StartRequest>) => {
    const request = jobs.request({ ...change });
    await jobs.app.get(JobStarter).start(request);
    return request;
  };
  const delayed = (change: Partial<StartRequest> = {}) => start({ startAt: Date.now() + hourMs, ...change });
  const rowOf = async ({ jobId }: StartRequest) =>
    (
      await jobs.rows<{ status: string; in_line: boolean }>('SELECT status, in_line FROM job WHERE id = $1', [jobId])
    )[0];
  /** The clock of the database cannot be turned: the instant is. */
  const turnBack = ({ jobId }: StartRequest) =>
    jobs.rows(`UPDATE job SET start_at = clock_timestamp() - interval '1 s' WHERE id = $1 RETURNING id`, [jobId]);
  const sweep = () => jobs.app.get(DelayedJobs).sweep();
  const isClaimable = async (request: StartRequest) =>
    (await jobs.app.get(LeaseRepository).findClaimable([request])).length === 1;

  /** When the messages of a queue about a job are delivered, ms since the epoch. */
  const messagesOf = async (queue: string, { jobId }: StartRequest) => {
    const sent = `SELECT start_after AS at FROM pgboss.job WHERE name = $1 AND data->>'jobId' = $2`;
    const { rows } = await database.postgres.workerPool.query<{ at: Date }>(sent, [queue, jobId]);
    return rows.map(({ at }) => at.getTime());
  };

  it.each([true, false])('keeps a job queued until its instant, with a thread: %s', async (hasThread) => {
    const createdBy = newId();
    const thread = hasThread ? { ref: newId(), createTitle: 'T' } : null;
    const request = await delayed({ createdBy, thread });
    await sweep();
    await jobs.app.get(ThreadQueue).advanceStuck();
    expect(await rowOf(request)).toEqual({ status: 'queued', in_line: true });
    expect(await isClaimable(request)).toBe(false);
    await turnBack(request);
    await sweep();
    expect(await rowOf(request)).toEqual({ status: 'queued', in_line: false });
    expect(await isClaimable(request)).toBe(true);
  });

  it('neither claims nor finds a job before its instant when an older worker took it out of the thread queue', async () => {
    const request = await delayed();
    await jobs.rows('UPDATE job SET in_line = false WHERE id = $1', [request.jobId]);
    const leases = jobs.app.get(LeaseRepository);
    const found = async () => (await leases.findRunnable(1_000, 0)).some(({ jobId }) => jobId === request.jobId);
    expect([await isClaimable(request), await found()]).toEqual([false, false]);
    await turnBack(request);
    expect([await isClaimable(request), await found()]).toEqual([true, true]);
  });

  it('stores a delayed job in a format that older workers leave alone', async () => {
    const { jobId } = await delayed();
    expect(await jobs.rows('SELECT format > 3 AS "isNew" FROM job WHERE id = $1', [jobId])).toEqual([{ isNew: true }]);
  });

  it('sends one queue message, due at startAt, when the job is accepted', async () => {
    const request = await delayed();
    expect(await messagesOf('job.due', request)).toEqual([request.startAt]);
  });

  it('sends the queue message of the job with the change that makes it claimable', async () => {
    const createdBy = newId();
    const thread = { ref: newId(), createTitle: 'T' };
    const requests = [await delayed(), await delayed({ createdBy, thread })];
    for (const request of requests) {
      expect(await messagesOf('job.chat', request)).toEqual([]);
      await turnBack(request);
    }
    await sweep();
    await sweep();
    for (const request of requests) expect(await messagesOf('job.chat', request)).toHaveLength(1);
  });

  it('leaves the thread free until the instant, then queues the job behind the active one', async () => {
    const createdBy = newId();
    const thread = { ref: newId(), createTitle: 'T' };
    const later = await delayed({ createdBy, thread });
    const active = await start({ createdBy, thread, whenBusy: 'reject' });
    expect(await rowOf(active)).toEqual({ status: 'queued', in_line: false });
    await turnBack(later);
    await sweep();
    expect(await rowOf(later)).toEqual({ status: 'queued', in_line: true });
    await jobs.app.get(JobStopper).cancelTree(active);
    expect(await rowOf(later)).toEqual({ status: 'queued', in_line: false });
  });

  it('starts queued jobs without an order first, then the one with the lowest order', async () => {
    const createdBy = newId();
    const thread = { ref: newId(), createTitle: 'T' };
    const queued = (change: Partial<StartRequest>) => start({ createdBy, thread, whenBusy: 'enqueue', ...change });
    const active = await queued({});
    const [last, second, first, third] = [
      await queued({ queueOrder: 'b' }),
      await queued({ queueOrder: 'B' }),
      await queued({}),
      await queued({ queueOrder: 'B' }),
    ];
    let ended = active;
    for (const next of [first, second, third, last]) {
      await jobs.app.get(JobStopper).cancelTree(ended);
      expect(await rowOf(next)).toEqual({ status: 'queued', in_line: false });
      ended = next;
    }
  });

  it('does not begin a job that is cancelled before its instant', async () => {
    const request = await delayed();
    await jobs.app.get(JobStopper).cancelTree(request);
    await turnBack(request);
    await sweep();
    expect(await rowOf(request)).toMatchObject({ status: 'cancelled' });
  });

  it('begins a job with a past instant at once, and rejects an instant more than 366 days ahead', async () => {
    expect(await rowOf(await start({ startAt: Date.now() - 1 }))).toEqual({ status: 'queued', in_line: false });
    for (const startAt of [Date.now() + 367 * 24 * hourMs, Number.NaN, Infinity])
      await expect(delayed({ startAt })).rejects.toMatchObject({ code: 'bad_request', field: 'startAt' });
  });

  it('does not count a delayed job against the caps on running jobs', async () => {
    const workspaceId = newId();
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(
        `INSERT INTO workspace (id, name, max_jobs, max_jobs_per_user, when_full) VALUES ($1, 'Test', 1, 1, 'reject')`,
        [workspaceId],
      ),
    );
    await delayed({ workspaceId });
    expect(await rowOf(await start({ workspaceId }))).toEqual({ status: 'queued', in_line: false });
    await expect(start({ workspaceId })).rejects.toMatchObject({ code: 'job_limit_reached' });
    await delayed({ workspaceId });
  });
});
