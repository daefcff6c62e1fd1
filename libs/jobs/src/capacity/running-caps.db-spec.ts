import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import type { JobOutcome } from '../run/job-handler.js';
import type { JobRun } from '../run/job-run.js';
import { Worker } from '../run/worker.js';
import { JobStarter } from '../start/job-starter.js';
import { FreedCapacity } from './freed-capacity.js';

const done: JobOutcome = { status: 'completed', reason: 'stop' };

/** Rejects when `signal` aborts. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(new Error('the worker stops'));
    });
  });

describe('RunningCaps', () => {
  let database: TestDatabase;
  const processes: TestJobs[] = [];

  beforeAll(async () => {
    database = await createTestDatabase({ poolSize: 20 });
  });

  afterEach(async () => {
    for (const { app } of processes) await app.get(Worker).stop(0);
    for (const process of processes.splice(0)) await process.close();
  });

  afterAll(async () => {
    await database.close();
  });

  /** Processes that accept and run jobs; Postgres carries their hints. */
  const open = async (count: number, run: (run: JobRun) => Promise<JobOutcome>, env: Record<string, string> = {}) => {
    for (let i = 0; i < count; i++) {
      const process = await openTestJobs(database, { LEASE_MS: '600000', BUS: 'postgres', ...env });
      // If a test fails before it resolves its jobs, they end when their worker stops.
      process.handle((jobRun) => Promise.race([run(jobRun), untilAborted(jobRun.signal)]));
      processes.push(process);
      process.app.get(Worker).start();
    }
    const [first] = processes;
    if (first === undefined) throw new Error('no process');
    return first;
  };
  const workspace = async (maxJobs: number, maxJobsPerUser: number): Promise<string> => {
    const workspaceId = newId();
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query('INSERT INTO workspace (id, name, max_jobs, max_jobs_per_user) VALUES ($1, $2, $3, $4)', [
        workspaceId,
        'Test',
        maxJobs,
        maxJobsPerUser,
      ]),
    );
    return workspaceId;
  };
  /** Starts jobs of one user in all processes at once. */
  const start = (workspaceId: string, createdBy: string | null, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, i) => {
        const process = processes[i % processes.length] ?? never();
        const thread = createdBy === null ? null : { ref: newId(), isNew: true, createTitle: 'T' };
        return process.app.get(JobStarter).start(process.request({ workspaceId, createdBy, thread }));
      }),
    );
  const never = (): never => {
    throw new Error('open a process first');
  };
  const running = async (workspaceId: string) => {
    const sql = `SELECT created_by AS "user", count(*)::int AS jobs FROM job WHERE workspace_id = $1 AND status = 'running' GROUP BY 1`;
    return (processes[0] ?? never()).rows<{ user: string; jobs: number }>(sql, [workspaceId]);
  };
  const allEnded = (workspaceId: string, count: number) =>
    eventually(`${count} jobs have completed`, async () => {
      const sql = `SELECT count(*)::int AS jobs FROM job WHERE workspace_id = $1 AND status = 'completed'`;
      const [row] = await (processes[0] ?? never()).rows<{ jobs: number }>(sql, [workspaceId]);
      return row?.jobs === count ? true : undefined;
    });

  it('never exceeds a cap when three processes start and claim jobs of four users concurrently', async () => {
    const workspaceId = await workspace(7, 3);
    const users = [newId(), newId(), newId(), newId()];
    let [most, mostOfUser] = [0, 0];
    await open(3, async () => {
      const counts = await running(workspaceId);
      most = Math.max(most, counts.reduce((sum, { jobs }) => sum + jobs, 0)); // prettier-ignore
      mostOfUser = Math.max(mostOfUser, ...counts.map(({ jobs }) => jobs));
      return done;
    });
    await Promise.all(users.map((user) => start(workspaceId, user, 40)));
    await allEnded(workspaceId, 160);
    expect([most, mostOfUser]).toEqual([7, 3]);
  });

  it("applies the operator's ceilings when the workspace sets higher caps", async () => {
    const workspaceId = await workspace(1_000, 1_000);
    let [most, mostOfUser] = [0, 0];
    await open(
      2,
      async () => {
        const counts = await running(workspaceId);
        most = Math.max(most, counts.reduce((sum, { jobs }) => sum + jobs, 0)); // prettier-ignore
        mostOfUser = Math.max(mostOfUser, ...counts.map(({ jobs }) => jobs));
        return done;
      },
      { RUNNING_JOBS_CEILING: '3', RUNNING_JOBS_PER_USER_CEILING: '2' },
    );
    await Promise.all([newId(), newId()].map((user) => start(workspaceId, user, 15)));
    await allEnded(workspaceId, 30);
    expect([most, mostOfUser]).toEqual([3, 2]);
  });

  it('runs the first job of a user before most queued jobs of another user', async () => {
    const workspaceId = await workspace(2, 2);
    const [busy, late] = [newId(), newId()];
    const gates = new Map<string, PromiseWithResolvers<JobOutcome>>();
    const order: (string | null)[] = [];
    await open(2, ({ job }) => {
      order.push(job.createdBy);
      const gate = Promise.withResolvers<JobOutcome>();
      gates.set(job.jobId, gate);
      return gate.promise;
    });
    await start(workspaceId, busy, 20);
    await eventually('two jobs run', () => (gates.size === 2 ? true : undefined));
    await start(workspaceId, late, 1);
    for (let ended = 1; ended < 21; ended++) {
      for (const gate of gates.values()) gate.resolve(done);
      await eventually('the next job runs', () => (gates.size > ended || gates.size === 21 ? true : undefined));
    }
    for (const gate of gates.values()) gate.resolve(done);
    await allEnded(workspaceId, 21);
    // A few queued jobs may start first, because a claim for an earlier hint ignores the turns. By age alone, this job would be the last of 21.
    expect(order.indexOf(late)).toBeLessThan(10);
  });

  it('does not delay jobs of another workspace', async () => {
    const [full, free] = [await workspace(1, 1), await workspace(1, 1)];
    const gate = Promise.withResolvers<JobOutcome>();
    await open(1, ({ job }) => (job.workspaceId === full ? gate.promise : Promise.resolve(done)));
    await start(full, newId(), 50);
    await start(free, newId(), 3);
    await allEnded(free, 3);
    gate.resolve(done);
    await allEnded(full, 50);
  });

  it('does not count a waiting job and counts it again when it resumes', async () => {
    const workspaceId = await workspace(1, 1);
    const seen: string[] = [];
    const process = await open(1, ({ job }) => {
      seen.push(job.jobId);
      return Promise.resolve(seen.length === 1 ? { status: 'waiting', interruptIds: [newId()] } : done);
    });
    const user = newId();
    const [first] = await start(workspaceId, user, 1);
    const rest = await start(workspaceId, user, 3);
    await allEnded(workspaceId, 3);
    expect(seen.slice(1).toSorted()).toEqual(rest.map(({ jobId }) => jobId).toSorted());
    await process.rows(`UPDATE job SET status = 'queued' WHERE id = $1`, [first?.jobId]);
    await process.app.get(Worker).sweep();
    await process.rows(`UPDATE job SET created_at = created_at - interval '1 hour' WHERE id = $1`, [first?.jobId]);
    await process.app.get(Worker).sweep();
    await allEnded(workspaceId, 4);
  });

  it('counts jobs without a user for their workspace only', async () => {
    const workspaceId = await workspace(4, 1);
    let most = 0;
    await open(2, async () => {
      const [count] = await running(workspaceId);
      most = Math.max(most, count?.jobs ?? 0);
      return done;
    });
    await start(workspaceId, null, 30);
    await allEnded(workspaceId, 30);
    expect(most).toBe(4);
  });

  it('starts queued jobs through the sweeper when the process that ended a job died', async () => {
    const workspaceId = await workspace(2, 2);
    await open(1, () => Promise.resolve(done), { LEASE_MS: '400' });
    jest.spyOn(processes[0]?.app.get(FreedCapacity) ?? never(), 'freed').mockResolvedValue();
    await start(workspaceId, newId(), 8);
    await allEnded(workspaceId, 8);
  });

  it('queues a start over a cap and releases its slot at once', async () => {
    const workspaceId = await workspace(1, 1);
    const gate = Promise.withResolvers<JobOutcome>();
    await open(1, () => gate.promise);
    const user = newId();
    const jobs = [...(await start(workspaceId, user, 1)), ...(await start(workspaceId, user, 4))];
    expect(await running(workspaceId)).toEqual([{ user, jobs: 1 }]);
    const [other] = await start(await workspace(5, 5), newId(), 1);
    const sql = `SELECT status FROM job WHERE id = $1`;
    expect(await (processes[0] ?? never()).rows(sql, [other?.jobId])).toEqual([{ status: 'running' }]);
    gate.resolve(done);
    await allEnded(workspaceId, jobs.length);
  });
});
