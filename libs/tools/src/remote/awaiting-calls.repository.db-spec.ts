import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal } from '#auth';
import { JobUpdater } from '#jobs';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { startTestEngine, type TestEngine } from '../../../../test/harness/engine.js';
import { openTestIdentities } from '../../../../test/harness/identities.js';
import { layOutWaitingJob } from '../../../../test/harness/interrupts.js';
import { AwaitingCallsRepository } from './awaiting-calls.repository.js';

const longestMs = 2 ** 31 - 1;

describe('the duration of a call that is settled from outside', () => {
  let database: TestDatabase;
  let engine: TestEngine;
  let member: MemberPrincipal;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startTestEngine(database, { LOG_LEVEL: 'silent' }, false);
    const identities = openTestIdentities(database);
    ({ member } = await identities.workspaceOf('here'));
    identities.auth.close();
  });
  afterAll(async () => {
    await engine.close();
    await database.close();
  });

  const rows = async (sql: string, values: readonly unknown[]) =>
    (await engine.platform.postgres.workerPool.query<{ ms: number | null }>(sql, [...values])).rows;

  /** Settles a call that began that long ago, and returns its row. */
  async function settled(from: string, ago: string, ms: number | null = null): Promise<number | null | undefined> {
    const { workspaceId, jobId, toolCallId } = await layOutWaitingJob(engine.app, member);
    const move = 'UPDATE tool_call SET status = $2, started_at = clock_timestamp() - $3::interval, duration_ms = $4';
    const through = from === 'interrupted' ? ['running', from] : [from];
    for (const status of through) await rows(`${move} WHERE id = $1`, [toolCallId, status, ago, ms]);
    const calls = engine.app.get(AwaitingCallsRepository);
    await engine.app.get(JobUpdater).update(workspaceId, jobId, async (job) => {
      const call = await calls.find(job, toolCallId);
      if (call === null) throw new Error('no such call');
      await calls.settle(job, call, { status: 'error', failure: { phase: 'execution', message: 'no' } });
    });
    const [row] = await rows('SELECT duration_ms AS ms FROM tool_call WHERE id = $1', [toolCallId]);
    return row?.ms;
  }

  it('covers the time of a running call, up to the limit of the column', async () => {
    expect(await settled('running', '1 hour')).toBeGreaterThanOrEqual(3_600_000);
    expect(await settled('running', '60 days')).toBe(longestMs);
  });

  it('excludes the days for which an interrupted call waited for a decision', async () => {
    expect(await settled('interrupted', '60 days', 5)).toBe(5);
    expect(await settled('interrupted', '3 days')).toBeNull();
  });

  it('excludes the days for which a call waited for an approval', async () => {
    expect(await settled('awaiting_approval', '3 days')).toBeNull();
  });
});
