import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { newId, PrismaService } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { openTestJobs, type TestJobs } from '../../../test/harness/jobs.js';
import { JobOwnersRepository } from './job-owners.repository.js';
import { JobStarter } from './start/job-starter.js';

describe('JobOwnersRepository', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  /** Another process. */
  let other: TestJobs;
  let reads: jest.SpiedFunction<PrismaService['queryInWorkspace']>;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
    other = await openTestJobs(database);
  });

  beforeEach(() => {
    reads = jest.spyOn(PrismaService.prototype, 'queryInWorkspace');
  });

  afterEach(() => {
    reads.mockRestore();
  });

  afterAll(async () => {
    await jobs.close();
    await other.close();
    await database.close();
  });

  const find = (process: TestJobs, workspaceId: string, jobId: string) =>
    process.app.get(JobOwnersRepository).find(workspaceId, jobId);

  it('runs no query for a job that this process has started', async () => {
    const { workspaceId } = jobs;
    const createdBy = newId();
    const { jobId } = await jobs.app.get(JobStarter).start(jobs.request({ createdBy }));
    reads.mockClear();
    expect(await find(jobs, workspaceId, jobId.toUpperCase())).toEqual({ workspaceId, jobId, createdBy });
    expect(reads).not.toHaveBeenCalled();
  });

  it('reads the owner of a job of another process once for many viewers', async () => {
    const { workspaceId } = jobs;
    const createdBy = newId();
    const { jobId } = await jobs.app.get(JobStarter).start(jobs.request({ createdBy }));
    reads.mockClear();
    const owner = { workspaceId, jobId, createdBy };
    const viewers = Array.from({ length: 3 }, () => find(other, workspaceId, jobId));
    expect(await Promise.all(viewers)).toEqual([owner, owner, owner]);
    expect(await find(other, workspaceId, jobId)).toEqual(owner);
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('does not find a job of another workspace', async () => {
    const { jobId } = await jobs.app.get(JobStarter).start(jobs.request());
    expect(await find(jobs, other.workspaceId, jobId)).toBeNull();
  });

  it('finds a job that starts after an earlier search returned null', async () => {
    const jobId = newId();
    expect(await find(other, jobs.workspaceId, jobId)).toBeNull();
    await jobs.app.get(JobStarter).start(jobs.request({ jobId }));
    expect(await find(other, jobs.workspaceId, jobId)).toMatchObject({ jobId });
  });
});
