import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { type MemberPrincipal, PrincipalsRepository, type Role } from '#auth';
import { JobHandlers, JobStarter } from '#jobs';
import { newId } from '#platform';

import { DelayedRights } from '../../libs/chat/src/delayed-rights.js';
import { JobRunner } from '../../libs/jobs/src/run/job-runner.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { DelayedJobs } from '../../libs/jobs/src/thread-queue/delayed-jobs.js';
import { claimOne } from '../harness/claim-one.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { openTestIdentities, type TestIdentities } from '../harness/identities.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';

describe('DelayedRights', () => {
  let database: TestDatabase;
  let identities: TestIdentities;
  let jobs: TestJobs;
  let people: Record<Role, MemberPrincipal>;

  beforeAll(async () => {
    database = await createTestDatabase();
    identities = openTestIdentities(database);
    people = await identities.workspaceOf('red');
    jobs = await openTestJobs(database);
    jobs.handle(() => Promise.resolve({ status: 'completed', reason: 'stop' }));
    new DelayedRights(new PrincipalsRepository(database.prisma), jobs.app.get(JobHandlers)).onModuleInit();
  });

  afterAll(async () => {
    await jobs.close();
    identities.auth.close();
    await database.close();
  });

  const rightLost = { status: 'failed', code: 'right_lost' };
  const completed = { status: 'completed', code: null };

  it.each([
    { does: 'runs', who: 'a member', requester: () => people.member, end: completed },
    { does: 'fails', who: 'a viewer', requester: () => people.viewer, end: rightLost },
    {
      does: 'fails',
      who: 'a user who left',
      requester: () => ({ ...people.member, id: `user:${newId()}` }),
      end: rightLost,
    },
    {
      does: 'fails',
      who: 'a key that is gone',
      requester: () => ({ ...people.member, id: `key:${newId()}` }),
      end: rightLost,
    },
    { does: 'runs', who: 'the system', requester: () => ({ ...people.member, id: 'system' }), end: completed },
  ])('$does the delayed job of $who', async ({ requester, end }) => {
    const { workspaceId, id: principal, userId: createdBy } = requester();
    const startAt = Date.now() + 3_600_000;
    const request = jobs.request({ workspaceId, principal, createdBy, startAt });
    const { jobId } = request;
    await jobs.app.get(JobStarter).start(request);
    await jobs.rows(`UPDATE job SET start_at = clock_timestamp() - interval '1 s' WHERE id = $1`, [jobId]);
    await jobs.app.get(DelayedJobs).sweep();
    const job = await claimOne(jobs.app.get(LeaseRepository), { workspaceId, jobId }, 'a worker');
    const runner = jobs.app.get(JobRunner);
    const ended = new Promise<void>((resolve) => (runner.onSlotFree = resolve));
    if (job !== undefined) runner.begin(job, performance.now());
    await ended;
    const rows = await jobs.rows(`SELECT status, error->>'code' AS code FROM job WHERE id = $1`, [jobId]);
    expect(rows).toEqual([end]);
  });
});
