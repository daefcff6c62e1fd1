import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { processName } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { endedProcess } from '../../../../test/harness/ended-process.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import { LeaseLost } from '../jobs.errors.js';
import { LeaseRepository } from './lease.repository.js';
import { LostLeases } from './lost-leases.js';
import { LostLeasesRepository } from './lost-leases.repository.js';
import { Worker } from './worker.js';

/** No lease of this file expires by time. */
const HOUR = '3600000';

describe('LostLeases', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let lost: LostLeases;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database, { LEASE_MS: HOUR });
    lost = jobs.app.get(LostLeases);
  });

  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const held = async (owner: string) => jobs.claim((await jobs.start(1))[0]?.jobId ?? '', owner);
  const renew = async (job: Awaited<ReturnType<typeof held>>) =>
    (await jobs.app.get(LeaseRepository).renew([job])).has(job.jobId);

  it('expires the lease of an ended process at once', async () => {
    const first = await held(await endedProcess());
    await expect(jobs.claim(first.jobId)).rejects.toThrow('cannot be claimed');
    await lost.end();
    expect(await jobs.claim(first.jobId)).toMatchObject({ epoch: 2, attempts: 2, previousOwner: expect.any(String) });
    expect(await renew(first)).toBe(false);
  });

  it.each([
    ['a living process', processName()],
    ['a process on another host', 'another-host:1:c0ffee00'],
  ])('keeps the lease of %s', async (_, owner) => {
    const job = await held(owner);
    await lost.end();
    await expect(jobs.claim(job.jobId)).rejects.toThrow('cannot be claimed');
    expect(await renew(job)).toBe(true);
  });

  it('lets a wrongly expired lease be renewed until another worker claims the job, then fences it', async () => {
    const job = await held(processName());
    const repository = jobs.app.get(LostLeasesRepository);
    await repository.end([processName()]);
    expect(await renew(job)).toBe(true);
    await expect(jobs.claim(job.jobId)).rejects.toThrow('cannot be claimed');
    await repository.end([processName()]);
    await jobs.claim(job.jobId);
    expect(await jobs.app.get(EventLogRepository).commit([writeOf(job, 1)])).toEqual([expect.any(LeaseLost)]);
    expect(await renew(job)).toBe(false);
  });

  it('lets a starting worker run only the jobs of ended processes', async () => {
    const orphan = await held(await endedProcess());
    const other = await held(processName());
    jobs.handle(() => Promise.resolve({ status: 'completed', reason: 'stop' }));
    const worker = jobs.app.get(Worker);
    worker.start();
    const states = () =>
      jobs.rows<object>('SELECT status, lease_epoch AS epoch FROM job WHERE id = ANY($1) ORDER BY status', [
        [orphan.jobId, other.jobId],
      ]);
    const ends = [
      { status: 'completed', epoch: 2 },
      { status: 'running', epoch: 1 },
    ];
    await eventually('the orphan has ended', async () =>
      JSON.stringify(await states()) === JSON.stringify(ends) ? true : undefined,
    );
    await worker.stop(0);
  });
});
