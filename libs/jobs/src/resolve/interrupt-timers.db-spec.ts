import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { newId, systemClock } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { endOf, openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import { InterruptTimers } from './interrupt-timers.js';

/** The batch size of one look. */
const many = 100;

describe('InterruptTimers', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let timers: InterruptTimers;
  let time: { mockReturnValue(ms: number): unknown; mockRestore(): unknown };
  /** Titles of the requests whose expiry was handled. */
  let tried: string[];

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  beforeEach(async () => {
    jobs = await openTestJobs(database);
    timers = jobs.app.get(InterruptTimers);
    tried = [];
    timers.register({
      kind: 'human_input',
      expire: ({ interrupt }) => {
        tried.push(interrupt.title);
        if (interrupt.title === 'broken') return Promise.reject(new Error('broken'));
        return Promise.resolve({ status: 'expired', outcome: { outcome: 'reject' }, by: null });
      },
    });
    time = jest.spyOn(systemClock, 'monotonic').mockReturnValue(0);
  });
  afterEach(async () => {
    time.mockRestore();
    await jobs.rows(`UPDATE interrupt SET status = 'cancelled', decided_at = now() WHERE status = 'open'`);
    await jobs.rows(`UPDATE interrupt SET title = ''`);
    await jobs.close();
  });
  afterAll(async () => {
    await database.close();
  });

  const claimed = async () => jobs.claim((await jobs.start(1))[0]?.jobId ?? '');
  /** Opens requests of a job that expired `age` ago. */
  const due = (jobId: string, title: string, { count = 1, kind = 'human_input', age = '1 hour' } = {}) =>
    jobs.rows(
      `INSERT INTO interrupt (workspace_id, id, job_id, kind, title, request, expires_at)
       SELECT $1, id, $2, $3, $4, '{}', clock_timestamp() - $5::interval FROM unnest($6::uuid[]) AS id`,
      [jobs.workspaceId, jobId, kind, title, age, Array.from({ length: count }, () => newId())],
    );
  const statusesOf = (title: string) =>
    jobs.rows('SELECT status, outcome, count(*)::int AS n FROM interrupt WHERE title = $1 GROUP BY 1, 2', [title]);
  const expired = [{ status: 'expired', outcome: { outcome: 'reject' }, n: 1 }];
  const open = [{ status: 'open', outcome: null, n: many }];

  it('handles a request behind a hundred older failing ones, which are tried again after a minute', async () => {
    const { jobId } = await claimed();
    await due(jobId, 'broken', { count: many });
    await due(jobId, 'fine', { age: '1 second' });
    await timers.look();
    expect(tried).toEqual(Array.from({ length: many }, () => 'broken'));
    await timers.look();
    expect(tried.slice(many)).toEqual(['fine']);
    expect(await statusesOf('fine')).toEqual(expired);
    time.mockReturnValue(60_000);
    await timers.look();
    expect(tried).toHaveLength(2 * many + 1);
  });

  it('handles a request behind a hundred of a kind without a handler', async () => {
    const { jobId } = await claimed();
    await due(jobId, 'strange', { count: many, kind: 'client_tool' });
    await due(jobId, 'fine', { age: '1 second' });
    await timers.look();
    expect([await statusesOf('fine'), await statusesOf('strange')]).toEqual([expired, open]);
  });

  it.each([
    ['with a cancel request', `UPDATE job SET cancel_requested_at = clock_timestamp() WHERE id = $1`],
    ['that has ended', null],
  ])('handles a request behind a hundred of a job %s', async (_what, stop) => {
    const [stuck, { jobId }] = [await claimed(), await claimed()];
    await due(stuck.jobId, 'stuck', { count: many });
    await due(jobId, 'fine', { age: '1 second' });
    if (stop === null) await jobs.app.get(EventLogRepository).commit([endOf(stuck, 1)]);
    else await jobs.rows(stop, [stuck.jobId]);
    await timers.look();
    expect([await statusesOf('fine'), await statusesOf('stuck')]).toEqual([expired, open]);
  });

  it('cancels open requests of an ended job in its sweep and no others', async () => {
    const [ended, { jobId }] = [await claimed(), await claimed()];
    await due(ended.jobId, 'left over', { age: '-1 day' });
    await due(jobId, 'awaited', { age: '-1 day' });
    await jobs.app.get(EventLogRepository).commit([endOf(ended, 1)]);
    await timers.sweep();
    expect(await statusesOf('left over')).toEqual([{ status: 'cancelled', outcome: { outcome: 'cancelled' }, n: 1 }]);
    expect(await statusesOf('awaited')).toEqual([{ status: 'open', outcome: null, n: 1 }]);
  });
});
