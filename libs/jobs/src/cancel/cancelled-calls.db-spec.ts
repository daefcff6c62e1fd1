import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import { CancelRepository } from './cancel.repository.js';

describe('the event of a cancelled call', () => {
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

  /** The arguments and the proposed arguments in the event of a cancelled call. */
  const loggedArguments = async (proposed: string, approved: string | null) => {
    const [started] = await jobs.start(1);
    const job = await jobs.claim(started?.jobId ?? '');
    await jobs.rows(
      `INSERT INTO tool_call (workspace_id, id, job_id, round, ordinal, call_id, name, arguments, approved_arguments, effect, status,
         idem_key) VALUES ($1, $2, $3, 1, 1, 'c', 't', $4, $5, 'once', 'pending', 'k')`,
      [job.workspaceId, newId(), job.jobId, proposed, approved],
    );
    await jobs.app.get(EventLogRepository).commit([writeOf(job, 1, { move: { to: 'waiting', externalUpdates: 0 } })]);
    const cancels = jobs.app.get(CancelRepository);
    const { workspaceId, jobId } = job;
    await cancels.inWorkspace(workspaceId, (client) =>
      cancels.cancel(client, { workspaceId, jobId, by: 'system', reason: 'why' }),
    );
    const [event] = await jobs.rows<{ call: { args: string; proposedArgs?: string } }>(
      `SELECT body->'call' AS call FROM job_event WHERE job_id = $1 AND type = 'tool-call-updated'`,
      [jobId],
    );
    return [event?.call.args, event?.call.proposedArgs];
  };

  it('omits the proposed arguments if an approval changed only their notation', async () => {
    const proposed = '{"b": 1.0, "a": 2}';
    const canonical = '{"a":2,"b":1}';
    expect(await loggedArguments(proposed, null)).toEqual([proposed, undefined]);
    expect(await loggedArguments(proposed, proposed)).toEqual([proposed, undefined]);
    expect(await loggedArguments(proposed, canonical)).toEqual([canonical, undefined]);
  });

  it.each(['{"a":1}', '{"a":', String.raw`{"a":"\u0000"}`])(
    'contains the proposed arguments %s if a person edited them',
    async (proposed) => {
      expect(await loggedArguments(proposed, '{"a":2}')).toEqual(['{"a":2}', proposed]);
      expect(await loggedArguments(proposed, proposed)).toEqual([proposed, undefined]);
    },
  );
});
