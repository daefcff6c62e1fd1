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

/** No lease of this file runs out by itself. */
const HOUR = '3600000';

describe('the leases of a process', () => {
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

  it('that has ended are to be had at once, with a new epoch', async () => {
    const first = await held(await endedProcess());
    await expect(jobs.claim(first.jobId)).rejects.toThrow('cannot be claimed');
    await lost.end();
    expect(await jobs.claim(first.jobId)).toMatchObject({ epoch: 2, attempts: 2, previousOwner: expect.any(String) });
    expect(await renew(first)).toBe(false);
  });

  it.each([
    ['that lives', processName()],
    ['nobody can be sure about', 'another-host:1:c0ffee00'],
  ])('%s stay its own', async (_, owner) => {
    const job = await held(owner);
    await lost.end();
    await expect(jobs.claim(job.jobId)).rejects.toThrow('cannot be claimed');
    expect(await renew(job)).toBe(true);
  });

  it('that was wrongly taken for ended stay its own as long as nobody has claimed, and are fenced after that', async () => {
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

  it('that has ended are run by the next worker that starts, and no others', async () => {
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
