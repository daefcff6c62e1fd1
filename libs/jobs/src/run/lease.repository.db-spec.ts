import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { endOf, type JobState, openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import { jobFormat } from '../job.js';
import { JobStarter } from '../start/job-starter.js';
import { type ClaimedJob, LeaseRepository } from './lease.repository.js';

describe('LeaseRepository', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let leases: LeaseRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database, { DATABASE_POOL_SIZE: '20', LEASE_MS: '600000' });
    leases = jobs.app.get(LeaseRepository);
  });

  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const state = async (jobId: string) => {
    const [row] = await jobs.rows<JobState & { key_cipher: Buffer | null }>('SELECT * FROM job WHERE id = $1', [jobId]);
    if (row === undefined) throw new Error('no such job');
    return row;
  };
  const startOne = async () => (await jobs.start(1))[0]?.jobId ?? '';
  const addCall = async (job: ClaimedJob, ordinal: number, effect: string) => {
    const values = [job.workspaceId, newId(), job.jobId, ordinal, effect, `${job.jobId}:1:${ordinal}`, job.epoch];
    await jobs.rows(
      `INSERT INTO tool_call (workspace_id, id, job_id, round, ordinal, call_id, name, arguments, effect, status, idem_key,
                              started_epoch) VALUES ($1, $2, $3, 1, $4, 'c', 't', '{}', $5, 'running', $6, $7)`,
      values,
    );
  };
  const callStates = async (jobId: string) => {
    const sql = 'SELECT effect, status FROM tool_call WHERE job_id = $1 ORDER BY ordinal';
    return (await jobs.rows<{ effect: string; status: string }>(sql, [jobId])).map((c) => `${c.effect} ${c.status}`);
  };

  it('grants each lease once when 16 claimers claim the same 200 jobs concurrently', async () => {
    const refs = (await jobs.start(200)).map(({ jobId }) => ({ workspaceId: jobs.workspaceId, jobId }));
    const granted: ClaimedJob[] = [];
    const claimer = async (n: number) => {
      const shuffled = refs.toSorted(() => Math.random() - 0.5);
      for (let i = 0; i < shuffled.length; i += 20)
        granted.push(...(await leases.claim(shuffled.slice(i, i + 20), `claimer ${n}`)).claimed);
    };
    await Promise.all(Array.from({ length: 16 }, (_, n) => claimer(n)));
    // A locked row is skipped, so rows that every claimer skipped are left for one more claim.
    granted.push(...(await leases.claim(refs, 'the last')).claimed);
    expect(granted).toHaveLength(200);
    expect(new Set(granted.map(({ jobId }) => jobId)).size).toBe(200);
    expect(granted.every(({ epoch }) => epoch === 1)).toBe(true);
    const [log] = await jobs.rows<{ n: number }>(`SELECT count(*)::int AS n FROM job_event WHERE type = 'job-started'`);
    expect(log?.n).toBe(200);
  });

  it('claims a job with a new epoch only after its lease has expired', async () => {
    const jobId = await startOne();
    const first = await jobs.claim(jobId);
    await expect(jobs.claim(jobId)).rejects.toThrow('cannot be claimed');
    await jobs.expire(jobId);
    const second = await jobs.claim(jobId, 'another worker');
    expect([first.epoch, second.epoch]).toEqual([1, 2]);
    expect((await leases.renew([first])).size).toBe(0);
    expect((await leases.renew([second])).has(jobId)).toBe(true);
  });

  it('does not renew the lease of an ended job', async () => {
    const job = await jobs.claim(await startOne());
    await jobs.app.get(EventLogRepository).commit([endOf(job, 1)]);
    expect((await leases.renew([job])).size).toBe(0);
    await expect(jobs.claim(job.jobId)).rejects.toThrow('cannot be claimed');
  });

  it('does not claim a job in a newer format', async () => {
    const { jobId } = await jobs.app.get(JobStarter).start(jobs.request({ format: jobFormat + 1 }));
    expect((await state(jobId)).status).toBe('queued');
    expect((await leases.claim([{ workspaceId: jobs.workspaceId, jobId }], 'an old worker')).claimed).toEqual([]);
    expect((await leases.findRunnable(1_000, 0)).map((ref) => ref.jobId)).not.toContain(jobId);
  });

  it('claims jobs of every known format', async () => {
    const { jobId } = await jobs.app.get(JobStarter).start(jobs.request({ format: jobFormat }));
    expect(await jobs.claim(jobId)).toMatchObject({ jobId });
    expect(await jobs.claim(await startOne())).toMatchObject({ kind: 'chat' });
  });

  it('does not claim a job queued behind another of its thread', async () => {
    const jobId = await startOne();
    await jobs.rows('UPDATE job SET in_line = true WHERE id = $1', [jobId]);
    await expect(jobs.claim(jobId)).rejects.toThrow('cannot be claimed');
  });

  it('interrupts only the `once` calls of an expired lease at the next claim', async () => {
    const first = await jobs.claim(await startOne());
    await addCall(first, 1, 'once');
    await addCall(first, 2, 'pure');
    await addCall(first, 3, 'idempotent');
    await jobs.expire(first.jobId);
    await jobs.claim(first.jobId);
    expect(await callStates(first.jobId)).toEqual(['once interrupted', 'pure running', 'idempotent running']);
  });

  it('does not interrupt calls of other jobs', async () => {
    const [one, other] = [await jobs.claim(await startOne()), await jobs.claim(await startOne())];
    await addCall(other, 1, 'once');
    await jobs.expire(one.jobId);
    await jobs.claim(one.jobId);
    expect(await callStates(other.jobId)).toEqual(['once running']);
  });

  it('countAnswers renews no lease and sees only its workspace', async () => {
    const job = await jobs.claim(await startOne());
    await jobs.rows(`UPDATE job SET answered = 3, lease_until = '2001-01-01' WHERE id = $1`, [job.jobId]);
    expect(await leases.countAnswers(job.workspaceId, [job.jobId])).toEqual(new Map([[job.jobId, 3]]));
    expect(await leases.countAnswers(newId(), [job.jobId])).toEqual(new Map());
    const [row] = await jobs.rows<{ year: number }>(
      'SELECT extract(year FROM lease_until)::int AS year FROM job WHERE id = $1',
      [job.jobId],
    );
    expect(row?.year).toBe(2001);
  });

  it('renew returns a requested cancel and a passed deadline', async () => {
    const job = await jobs.claim(await startOne());
    expect((await leases.renew([job])).get(job.jobId)).toEqual({
      cancelRequested: false,
      externalUpdates: 0,
      reason: null,
      late: false,
    });
    await jobs.rows(
      `UPDATE job SET cancel_requested_at = now(), reason = 'why', deadline_at = now() - interval '1 s' WHERE id = $1`,
      [job.jobId],
    );
    expect((await leases.renew([job])).get(job.jobId)).toEqual({
      cancelRequested: true,
      externalUpdates: 0,
      reason: 'why',
      late: true,
    });
  });

  it('counts the claims since the last progress, without released ones', async () => {
    const log = jobs.app.get(EventLogRepository);
    const jobId = await startOne();
    await jobs.claim(jobId);
    await jobs.expire(jobId);
    const second = await jobs.claim(jobId);
    expect(second.attempts).toBe(2);
    await log.commit([writeOf(second, 1, { move: { to: 'queued', kind: 'chat' } })]);
    const third = await jobs.claim(jobId);
    expect(third.attempts).toBe(2);
    await log.commit([writeOf(third, 1, { progress: true })]);
    await jobs.expire(jobId);
    expect((await jobs.claim(jobId)).attempts).toBe(1);
  });

  it('claims a job with the working time that it has left', async () => {
    const jobId = await startOne();
    const first = await jobs.claim(jobId);
    await jobs.rows(`UPDATE job SET deadline_at = lease_until + interval '7 s' WHERE id = $1`, [jobId]);
    await jobs.rows(
      `UPDATE job SET lease_until = lease_until - interval '1 h', deadline_at = deadline_at - interval '1 h' WHERE id = $1`,
      [jobId],
    );
    const second = await jobs.claim(jobId);
    expect(first.remainingMs).toBeGreaterThan(200_000);
    expect(second.remainingMs).toBeLessThanOrEqual(7_000);
    expect(second.remainingMs).toBeGreaterThan(0);
  });
});
