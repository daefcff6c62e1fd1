import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { JobStarter } from '../start/job-starter.js';
import { RefusedWaits } from './refused-waits.js';

describe('RefusedWaits', () => {
  let database: TestDatabase;
  let jobs: TestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database);
  });
  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  /** A job with an open request, stored as by a worker of a build that does not know `refused`. */
  const asking = async (input: object, kind: string) => {
    const { jobId } = await jobs.app.get(JobStarter).start(jobs.request({ input: { messages: [], ...input } }));
    await jobs.rows(
      `INSERT INTO interrupt (workspace_id, id, job_id, kind, title, request) VALUES ($1, $2, $3, $4, 't', '{}')`,
      [jobs.workspaceId, newId(), jobId, kind],
    );
    return { workspaceId: jobs.workspaceId, jobId };
  };
  const statusOf = async ({ jobId }: { readonly jobId: string }) =>
    (await jobs.rows<{ status: string }>('SELECT status FROM job WHERE id = $1', [jobId]))[0]?.status;

  it('cancels a job started with humanWait `reject` even if an older worker did not mark the request as refused', async () => {
    const job = await asking({ humanWait: 'reject' }, 'tool_approval');
    expect(await jobs.app.get(RefusedWaits).refuse(job)).toBe(true);
    expect(await statusOf(job)).toBe('cancelled');
    expect(await jobs.app.get(RefusedWaits).refuse(job)).toBe(true);
  });

  it('keeps a job that may wait for a person, or that waits for a client only', async () => {
    for (const job of [await asking({}, 'tool_approval'), await asking({ humanWait: 'reject' }, 'client_tool')]) {
      expect(await jobs.app.get(RefusedWaits).refuse(job)).toBe(false);
      expect(await statusOf(job)).toBe('queued');
    }
  });
});
