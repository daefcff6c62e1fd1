import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { voidRestoredLeases } from '#jobs';
import { openOwnerPrisma } from '#platform';

import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';

let database: TestDatabase;
let jobs: TestJobs;
let owner: ReturnType<typeof openOwnerPrisma>;

beforeAll(async () => {
  database = await createTestDatabase();
  jobs = await openTestJobs(database);
  owner = openOwnerPrisma(database.urls.owner);
});
afterAll(async () => {
  await owner.$disconnect();
  await jobs.close();
  await database.close();
});

describe('voidRestoredLeases', () => {
  it('fences earlier workers and lets another worker claim the job at once', async () => {
    const leases = jobs.app.get(LeaseRepository);
    const [started] = await jobs.start(1);
    const jobId = started?.jobId ?? '';
    const before = await jobs.claim(jobId, 'a worker of before');
    const ref = { workspaceId: jobs.workspaceId, jobId };
    expect((await leases.claim([ref], 'too early')).claimed).toEqual([]);

    await voidRestoredLeases(owner);

    expect((await leases.renew([{ ...ref, epoch: before.epoch }])).size).toBe(0);
    const after = await jobs.claim(jobId, 'a worker of after');
    expect(after.epoch).toBeGreaterThan(before.epoch + 1_000);
  });

  it('leaves ended jobs unchanged and removes viewers', async () => {
    const [started] = await jobs.start(1);
    const jobId = started?.jobId ?? '';
    const { workspaceId } = jobs;
    await owner.job.updateMany({ where: { id: jobId }, data: { status: 'cancelled', finishedAt: new Date() } });
    await owner.jobViewer.createMany({ data: [{ workspaceId, jobId, process: jobId, seenAt: new Date() }] });

    await voidRestoredLeases(owner);

    expect(await jobs.rows('SELECT lease_epoch FROM job WHERE id = $1', [jobId])).toEqual([{ lease_epoch: 0 }]);
    expect(await owner.jobViewer.count()).toBe(0);
  });
});
