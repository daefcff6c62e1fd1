import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { endOf, openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import type { NewInterrupt } from '../interrupt.js';
import { openInterruptRow } from '../interrupts/new-interrupt.repository.js';
import type { ClaimedJob } from '../run/lease.repository.js';
import { JobStarter } from '../start/job-starter.js';
import type { DueHandler } from './interrupt-settler.js';
import { InterruptTimers } from './interrupt-timers.js';

/** As many as a sweep reads in one query. */
const many = 100;

describe('InterruptTimers', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let timers: InterruptTimers;
  /** Titles of the requests whose expiry was asked for. */
  let tried: string[];

  const expire: DueHandler['expire'] = ({ interrupt }) => {
    tried.push(interrupt.title);
    if (interrupt.title === 'broken') return Promise.reject(new Error('broken'));
    return Promise.resolve({ status: 'expired', outcome: { outcome: 'reject' }, by: null });
  };

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  beforeEach(async () => {
    jobs = await openTestJobs(database);
    timers = jobs.app.get(InterruptTimers);
    tried = [];
    timers.register({ kind: 'human_input', expire });
  });
  afterEach(async () => {
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

  it('settles a request behind a hundred older failing ones, which the next sweep tries again', async () => {
    const { jobId } = await claimed();
    await due(jobId, 'broken', { count: many });
    await due(jobId, 'fine', { age: '1 second' });
    await timers.sweep();
    expect(tried).toHaveLength(many + 1);
    expect(await statusesOf('fine')).toEqual(expired);
    await timers.sweep();
    expect(tried.slice(many + 1)).toEqual(Array.from({ length: many }, () => 'broken'));
  });

  it('handles a request behind a hundred of a kind without a handler', async () => {
    const { jobId } = await claimed();
    await due(jobId, 'strange', { count: many, kind: 'client_tool' });
    await due(jobId, 'fine', { age: '1 second' });
    await timers.sweep();
    expect([await statusesOf('fine'), await statusesOf('strange')]).toEqual([expired, open]);
  });

  it.each([
    ['that is being stopped', 'open', `UPDATE job SET cancel_requested_at = clock_timestamp() WHERE id = $1`],
    ['that has ended', 'cancelled', null],
  ])('settles a request behind a hundred of a job %s', async (_what, status, stop) => {
    const [stuck, { jobId }] = [await claimed(), await claimed()];
    await due(stuck.jobId, 'stuck', { count: many });
    await due(jobId, 'fine', { age: '1 second' });
    if (stop === null) await jobs.app.get(EventLogRepository).commit([endOf(stuck, 1)]);
    else await jobs.rows(stop, [stuck.jobId]);
    await timers.sweep();
    expect(await statusesOf('fine')).toEqual(expired);
    expect(await statusesOf('stuck')).toMatchObject([{ status, n: many }]);
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

  describe('with queue messages', () => {
    const messages = (interruptId: string) =>
      jobs.rows<{ state: string; at: number }>(
        `SELECT state, (extract(epoch FROM start_after) * 1000)::float8 AS at FROM pgboss.job
          WHERE name = 'interrupt.due' AND data->>'interruptId' = $1 ORDER BY created_on`,
        [interruptId],
      );
    const asked = (expiresAt: number | null, kind: NewInterrupt['kind'] = 'human_input') =>
      ({ id: newId(), kind, title: 'asked', request: {}, expiresAt }) as const;
    /** Opens a request as a run does. */
    const ask = async (job: ClaimedJob, interrupt: NewInterrupt) => {
      const write = writeOf(job, 1, { rows: [openInterruptRow(job, interrupt)] });
      const [written] = await jobs.app.get(EventLogRepository).commit([write]);
      if (written instanceof Error) throw written;
      return interrupt.id;
    };
    const statusOf = async (id: string) =>
      (await jobs.rows<{ status: string }>('SELECT status FROM interrupt WHERE id = $1', [id]))[0]?.status;
    const becomes = (id: string, status: string) =>
      eventually(`the request is ${status}`, async () => ((await statusOf(id)) === status ? true : undefined));

    afterEach(async () => {
      await timers.stop();
      await jobs.rows('DELETE FROM pgboss.job');
    });

    it('expires a request when the message of its opening is due', async () => {
      const expiresAt = Date.now() + 1_000;
      const id = await ask(await claimed(), asked(expiresAt));
      expect(await messages(id)).toEqual([{ state: 'created', at: expiresAt }]);
      await timers.start();
      await becomes(id, 'expired');
    });

    it('sends no message for a client call that never expires', async () => {
      const id = await ask(await claimed(), asked(null, 'client_tool'));
      expect(await messages(id)).toEqual([]);
    });

    it('settles each request once with two workers', async () => {
      const second = await openTestJobs(database);
      const other = second.app.get(InterruptTimers);
      other.register({ kind: 'human_input', expire });
      try {
        const ids = await Promise.all(
          Array.from({ length: 10 }, async () => ask(await claimed(), asked(Date.now() - 1_000))),
        );
        await Promise.all([timers.start(), other.start(), timers.sweep(), other.sweep()]);
        for (const id of ids) await becomes(id, 'expired');
        expect(tried).toHaveLength(ids.length);
      } finally {
        await other.stop();
        await second.close();
      }
    });

    it('sends a message for the new instant when an expiry was postponed', async () => {
      const id = await ask(await claimed(), asked(Date.now() - 1_000));
      await jobs.rows(`UPDATE interrupt SET expires_at = clock_timestamp() + interval '1 hour' WHERE id = $1`, [id]);
      await timers.start();
      const moved = await eventually('a second message is stored', async () => (await messages(id))[1]);
      expect(moved.at).toBeGreaterThan(Date.now() + 3_500_000);
      expect(await statusOf(id)).toBe('open');
    });

    it('cancels a job that must not wait for a person, long before the request expires', async () => {
      const input = { messages: [], humanWait: 'reject' };
      const { jobId } = await jobs.app.get(JobStarter).start(jobs.request({ input }));
      const id = await ask(await jobs.claim(jobId), asked(Date.now() + 3_600_000));
      await jobs.rows(`UPDATE job SET status = 'waiting', lease_owner = NULL, lease_until = NULL WHERE id = $1`, [
        jobId,
      ]);
      await timers.start();
      await becomes(id, 'cancelled');
      expect(await jobs.rows('SELECT status, reason FROM job WHERE id = $1', [jobId])).toEqual([
        { status: 'cancelled', reason: 'human_wait' },
      ]);
    });
  });
});
