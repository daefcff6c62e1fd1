import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { jobKinds, JobStarter } from '#jobs';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';
import { sendCalls } from '../harness/tool-queue.js';

describe('pg-boss in a running system', () => {
  let database: TestDatabase;
  let test: TestApi;
  /** A process that accepts jobs and runs none. */
  let accepting: TestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    test = await startTestApi(database);
    accepting = await openTestJobs(database);
  });

  afterAll(async () => {
    await accepting.close();
    await test.close();
    await database.close();
  });

  /** Queues with a message that a handler has completed, by pg-boss's own table. */
  const workedQueues = async () =>
    (
      await database.postgres.engine.query<{ name: string }>(
        `SELECT DISTINCT name FROM pgboss.job WHERE state = 'completed' AND name NOT LIKE '\\_\\_pgboss%' ORDER BY name`,
      )
    ).rows.map(({ name }) => name);

  it('delivers each kind of background work to a handler registered with work', async () => {
    const expected = ['job.chat', 'job.workflow', 'maintenance.retention', 'tool-execution', 'tool-results'];
    for (const kind of jobKinds) await accepting.app.get(JobStarter).start(accepting.request({ kind }));
    await sendCalls(accepting.app, accepting.workspaceId, ['a tool that is gone']);

    const worked = await eventually('each queue was worked', async () => {
      const names = await workedQueues();
      return names.length < expected.length ? undefined : names;
    });
    expect(worked).toEqual(expected);
  });
});
