import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';
import { newCallRow, settleCallRow, startCallRow } from '#tools';

import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import type { ClaimedJob } from '../../libs/jobs/src/run/lease.repository.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { openTestJobs, type TestJobs, writeOf } from '../harness/jobs.js';

interface Row {
  readonly status: string;
  readonly thread_id: string | null;
  readonly created_by: string | null;
  readonly runtime: string;
  readonly duration_ms: number | null;
  readonly result_bytes: number | null;
}

const call = {
  callId: 'call_1',
  name: 'add',
  arguments: '{"a":1}',
  effect: 'pure',
  status: 'pending',
  result: null,
  error: null,
  ranMs: null,
} as const;

describe('tool call ledger', () => {
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

  const claimed = async (): Promise<ClaimedJob> => {
    const [started] = await jobs.start(1);
    return jobs.claim(started?.jobId ?? '');
  };
  const commit = async (job: ClaimedJob, number: number, rows: Parameters<typeof writeOf>[2]) => {
    const [written] = await jobs.app.get(EventLogRepository).commit([writeOf(job, number, rows)]);
    expect(written).not.toBeInstanceOf(Error);
  };
  const rowsOf = (job: ClaimedJob) =>
    jobs.rows<Row>(
      `SELECT status, thread_id, created_by, runtime, duration_ms, result_bytes FROM tool_call WHERE job_id = $1 ORDER BY ordinal`,
      [job.jobId],
    );

  it('stores thread and user of the job, so that lists of calls need no join', async () => {
    const job = await claimed();
    const threadId = newId();
    await database.postgres.withWorkspaceSql(jobs.workspaceId, async (client) => {
      await client.query('INSERT INTO thread (workspace_id, id, created_by) VALUES ($1, $2, $3)', [
        jobs.workspaceId,
        threadId,
        jobs.userId,
      ]);
      await client.query('UPDATE job SET thread_id = $2, created_by = $3 WHERE id = $1', [
        job.jobId,
        threadId,
        jobs.userId,
      ]);
    });
    await commit(job, 1, { rows: [newCallRow(job, 1, { ...call, ordinal: 1 })] });
    expect(await rowsOf(job)).toEqual([
      expect.objectContaining({ created_by: jobs.userId, thread_id: threadId, runtime: 'server', duration_ms: null }),
    ]);
  });

  it('stores hashes of argument values, bound to workspace and day', async () => {
    const job = await claimed();
    await commit(job, 1, {
      rows: [
        newCallRow(job, 1, { ...call, ordinal: 1, arguments: '{"to":"ada","list":[7]}' }),
        newCallRow(job, 1, { ...call, ordinal: 2, callId: 'call_2', arguments: '{}' }),
      ],
    });
    const rows = await jobs.rows<{ keys: string[] | null; expected: string[] }>(
      `SELECT argument_keys AS keys, ARRAY[tool_call_key(tool_call_seed(workspace_id, tool_call_day(id)), '["to","ada"]'),
              tool_call_key(tool_call_seed(workspace_id, tool_call_day(id)), '["list",0,7]')] AS expected
         FROM tool_call WHERE job_id = $1 ORDER BY ordinal`,
      [job.jobId],
    );
    expect(rows[0]?.keys).toEqual(rows[0]?.expected);
    expect(rows[1]?.keys).toBeNull();
  });

  it('stores duration and result size of calls that are written at once or settled later', async () => {
    const job = await claimed();
    const ran = { ...call, status: 'completed', result: 'é', ranMs: 7, runtime: 'mcp' } as const;
    await commit(job, 1, {
      rows: [
        newCallRow(job, 1, { ...ran, ordinal: 1 }),
        newCallRow(job, 1, { ...ran, ordinal: 2, callId: 'call_2', resultBytes: 900 }),
        newCallRow(job, 1, { ...call, ordinal: 3, callId: 'call_3' }),
        newCallRow(job, 1, { ...call, ordinal: 4, callId: 'call_4' }),
      ],
    });
    await commit(job, 2, { rows: [startCallRow(job, { round: 1, ordinal: 3 })] });
    const failure = { phase: 'execution', message: 'no' } as const;
    await commit(job, 3, {
      rows: [
        settleCallRow(job, { round: 1, ordinal: 3 }, { status: 'completed', result: 'abc', resultBytes: 5_000 }),
        settleCallRow(job, { round: 1, ordinal: 4 }, { status: 'cancelled', failure }),
      ],
    });
    expect(await rowsOf(job)).toEqual([
      expect.objectContaining({ runtime: 'mcp', duration_ms: 7, result_bytes: 2 }),
      expect.objectContaining({ runtime: 'mcp', duration_ms: 7, result_bytes: 900 }),
      expect.objectContaining({ status: 'completed', duration_ms: expect.any(Number), result_bytes: 5_000 }),
      expect.objectContaining({ status: 'cancelled', duration_ms: null, result_bytes: null }),
    ]);
  });
});
