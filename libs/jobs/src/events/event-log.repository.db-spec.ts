import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Config, type Postgres, PrismaService } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { endOf, openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { LeaseLost } from '../jobs.errors.js';
import { JobQueue } from '../queue/job-queue.js';
import { roundRow } from '../rounds/round.part.js';
import { type ClaimedJob } from '../run/lease.repository.js';
import { type CommitPart, partRow } from './commit-part.js';
import { noCounts } from './commit-statement.js';
import { EventActions } from './event-actions.repository.js';
import { EventLogRepository } from './event-log.repository.js';

interface Row {
  readonly seq: number;
  readonly epoch: number;
  readonly type: string;
  readonly text: string | null;
}

describe('the event log', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  let log: EventLogRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database, { DATABASE_POOL_SIZE: '20' });
    log = jobs.app.get(EventLogRepository);
  });

  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const claimed = async (count: number): Promise<ClaimedJob[]> => {
    const started = await jobs.start(count);
    return Promise.all(started.map(({ jobId }) => jobs.claim(jobId)));
  };
  const logOf = (jobId: string) =>
    jobs.rows<Row>(`SELECT seq, epoch, type, body->>'text' AS text FROM job_event WHERE job_id = $1 ORDER BY seq`, [
      jobId,
    ]);
  const round = (job: ClaimedJob, number: number) => {
    const counts = { promptTokens: 0, completionTokens: 0, usageEstimated: false, startedAt: 0 };
    return roundRow(job, {
      ...counts,
      number,
      model: 'm',
      text: 'hello',
      reasoning: '',
      finishReason: 'stop',
      partial: false,
    });
  };
  /** The repository with `wrap` around each statement that it sends by the driver. */
  const wrapped = (wrap: (send: () => Promise<unknown>) => Promise<unknown>): EventLogRepository => {
    const pool = jobs.platform.postgres.workerPool;
    const send = pool.query.bind(pool);
    const workerPool = {
      query: (...args: readonly unknown[]) => wrap(async (): Promise<unknown> => await Reflect.apply(send, pool, args)),
    };
    // The repository uses nothing of Postgres but workerPool.query.
    return new EventLogRepository(
      { workerPool } as unknown as Postgres,
      jobs.app.get(PrismaService),
      jobs.app.get(Config),
      jobs.app.get(JobQueue),
      new EventActions(),
    );
  };
  const gone = () => new Error('Connection terminated unexpectedly');
  /** Loses the reply of the first `times` statements after they were committed. */
  const losingReplies = (times: number): EventLogRepository => {
    let left = times;
    return wrapped(async (send) => {
      const answer = await send();
      if (left-- > 0) throw gone();
      return answer;
    });
  };

  it('moves the deadline by the time of an outage and does not count it as working time', async () => {
    const [job] = await claimed(1);
    if (job === undefined) throw new Error('no job');
    const { JOB_TIMEOUT_MS } = jobs.app.get(Config).values;
    await jobs.rows(`UPDATE job SET deadline_at = clock_timestamp() + $2::int * interval '1 ms' WHERE id = $1`, [
      job.jobId,
      JOB_TIMEOUT_MS - 200_000,
    ]);
    const deadline = async () => {
      const sql = 'SELECT (extract(epoch FROM deadline_at) * 1000)::float8 AS at, worked_ms FROM job WHERE id = $1';
      const [row] = await jobs.rows<{ at: number; worked_ms: number }>(sql, [job.jobId]);
      return row ?? { at: 0, worked_ms: 0 };
    };
    const before = await deadline();
    const outage = (outageMs: number) => ({ ...noCounts, outageMs });
    await log.commit([writeOf(job, 1, { counts: outage(60_000) })]);
    expect((await deadline()).at - before.at).toBe(60_000);
    await log.commit([writeOf(job, 2, { counts: outage(90_000), move: { to: 'waiting', externalUpdates: 0 } })]);
    const { worked_ms: workedMs } = await deadline();
    expect([workedMs >= 50_000, workedMs < 110_000]).toEqual([true, true]);
  });

  it('uses separate prepared statements for parts with long names', async () => {
    const [job] = await claimed(1);
    if (job === undefined) throw new Error('no job');
    const part = (name: string): CommitPart<readonly [string, string]> => ({
      name,
      columns: [
        ['workspace_id', 'uuid'],
        ['job_id', 'uuid'],
      ],
      sql: (rows) => `SELECT 1 FROM ${rows}`,
    });
    const rowOf = (name: string) => partRow(part(name), [job.workspaceId, job.jobId]);
    // The parts of a busy worker. Postgres keeps 63 characters of a statement's name.
    const first = ['new_calls', 'opened_interrupts', 'rounds', 'settled_calls', 'started_calls'].map(rowOf);
    const client = await jobs.platform.postgres.workerPool.connect();
    try {
      const postgres = { workerPool: client } as unknown as Postgres; // as above
      const repository = new EventLogRepository(
        postgres,
        jobs.app.get(PrismaService),
        jobs.app.get(Config),
        jobs.app.get(JobQueue),
        new EventActions(),
      );
      const writes = [
        writeOf(job, 1, { rows: [...first, rowOf('job_ends')] }),
        writeOf(job, 2, { rows: [...first, rowOf('tool_outputs')] }),
      ];
      for (const write of writes) {
        const [answer] = await repository.commit([write]);
        expect(answer).not.toBeInstanceOf(Error);
      }
    } finally {
      client.release();
    }
  });

  it('writes no gap and no older epoch after a newer one when batches and epochs are shuffled', async () => {
    const held = new Map((await claimed(40)).map((job) => [job.jobId, { job, number: 0 }]));
    const ids = [...held.keys()];
    let written = 0;
    const failures: unknown[] = [];
    const watched = wrapped((send) =>
      send().catch((error: unknown) => {
        failures.push(error);
        throw error;
      }),
    );
    const writer = async () => {
      for (let batch = 0; batch < 40; batch++) {
        const chosen = ids.toSorted(() => Math.random() - 0.5).slice(0, 12);
        const leases = chosen.flatMap((id) => held.get(id) ?? []);
        const writes = leases.map(({ job, number }) =>
          writeOf(job, number + 1, { events: [...writeOf(job, number + 1).events, ...writeOf(job, 0).events] }),
        );
        const answers = await watched.commit(writes);
        answers.forEach((answer, i) => {
          const lease = leases[i];
          if (lease === undefined || answer instanceof Error) return;
          lease.number += 1;
          written += 1;
        });
      }
    };
    const thief = async () => {
      for (let i = 0; i < 60; i++) {
        const jobId = ids[i % ids.length] ?? '';
        await jobs.expire(jobId);
        const job = await jobs.claim(jobId, 'a thief').catch(() => undefined);
        if (job !== undefined) held.set(jobId, { job, number: 0 });
      }
    };
    await Promise.all([...Array.from({ length: 8 }, writer), thief()]);
    expect(written).toBeGreaterThan(200);
    expect(failures).toEqual([]); // no deadlock either
    for (const jobId of ids) {
      const events = await logOf(jobId);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
      const epochs = events.map(({ epoch }) => epoch);
      expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
    }
  });

  it('stores nothing of an older epoch and fails only its caller', async () => {
    const [zombie, other] = await claimed(2);
    if (zombie === undefined || other === undefined) throw new Error('two jobs were claimed');
    await jobs.expire(zombie.jobId);
    await jobs.claim(zombie.jobId, 'the successor');
    const before = await logOf(zombie.jobId);
    const stale = writeOf(zombie, 1, { rows: [round(zombie, 1)], progress: true });
    const [refused, stored] = await log.commit([stale, writeOf(other, 1)]);
    expect(refused).toBeInstanceOf(LeaseLost);
    expect(stored).toMatchObject({ base: 2 });
    expect(await logOf(zombie.jobId)).toEqual(before);
    expect(await jobs.rows('SELECT 1 FROM round WHERE job_id = $1', [zombie.jobId])).toEqual([]);
    expect(await logOf(other.jobId)).toHaveLength(3);
  });

  it('applies a write once when its reply is lost, alone and in a batch', async () => {
    for (const count of [1, 3]) {
      const held = await claimed(count);
      const answers = await losingReplies(1).commit(held.map((job) => writeOf(job, 1, { rows: [round(job, 1)] })));
      expect(answers.map((answer) => (answer instanceof Error ? answer.message : 'stored'))).toEqual(
        held.map(() => 'stored'),
      );
      for (const { jobId } of held)
        expect((await logOf(jobId)).filter(({ type }) => type === 'warning')).toHaveLength(1);
    }
  });

  it('applies a write once when its first attempt commits after a failure was reported', async () => {
    const [job] = await claimed(1);
    if (job === undefined) throw new Error('a job was claimed');
    const statements: (() => Promise<unknown>)[] = [];
    const late = wrapped(async (send) => {
      statements.push(send);
      if (statements.length === 1) throw gone();
      if (statements.length === 2) await statements[0]?.();
      return send();
    });
    const [answer] = await late.commit([writeOf(job, 1)]);
    expect(answer).not.toBeInstanceOf(Error);
    expect((await logOf(job.jobId)).filter(({ type }) => type === 'warning')).toHaveLength(1);
  });

  it('reports the end of a job as stored when its reply is lost', async () => {
    const [job] = await claimed(1);
    if (job === undefined) throw new Error('a job was claimed');
    const [answer] = await losingReplies(1).commit([endOf(job, 1)]);
    expect(answer).not.toBeInstanceOf(Error);
    expect((await logOf(job.jobId)).filter(({ type }) => type === 'job-finished')).toHaveLength(1);
  });

  it('returns no event numbers for a write whose reply is lost', async () => {
    const [job] = await claimed(1);
    if (job === undefined) throw new Error('a job was claimed');
    const lossy = losingReplies(1);
    const [answer] = await lossy.commit([writeOf(job, 1)]);
    expect(answer).toMatchObject({ base: null });
  });

  it('rolls back only the job whose part does not write all its rows', async () => {
    const [bad, good] = await claimed(2);
    if (bad === undefined || good === undefined) throw new Error('two jobs were claimed');
    await log.commit([writeOf(bad, 1, { rows: [round(bad, 1)] })]);
    const [refused, stored] = await log.commit([
      writeOf(bad, 2, { rows: [round(bad, 1)] }),
      writeOf(good, 1, { rows: [round(good, 1)] }),
    ]);
    expect(refused).toBeInstanceOf(Error);
    expect(refused).not.toBeInstanceOf(LeaseLost);
    expect(stored).toMatchObject({ base: 2 });
    expect((await logOf(bad.jobId)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    const [row] = await jobs.rows<{ last_seq: number }>('SELECT last_seq FROM job WHERE id = $1', [bad.jobId]);
    expect(row?.last_seq).toBe(3);
  });

  it('refuses an `unlessCancelled` write after a cancel request and accepts others', async () => {
    const [job] = await claimed(1);
    if (job === undefined) throw new Error('a job was claimed');
    await jobs.rows('UPDATE job SET cancel_requested_at = now() WHERE id = $1', [job.jobId]);
    const [refused] = await log.commit([writeOf(job, 1, { unlessCancelled: true })]);
    expect(refused).toBeInstanceOf(LeaseLost);
    const [stored] = await log.commit([writeOf(job, 1)]);
    expect(stored).not.toBeInstanceOf(Error);
  });

  it("erases the job's key in the write that ends it", async () => {
    const started = await jobs.start(1);
    const jobId = started[0]?.jobId ?? '';
    await jobs.rows(`UPDATE job SET key_cipher = '\\x01' WHERE id = $1`, [jobId]);
    const job = await jobs.claim(jobId);
    expect(job.keyCipher).not.toBeNull();
    await log.commit([endOf(job, 1)]);
    expect(await jobs.rows('SELECT key_cipher FROM job WHERE id = $1', [jobId])).toEqual([{ key_cipher: null }]);
  });
});
