import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { AppError, newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { JobStarter } from './job-starter.js';

const bound = 5;

describe('a start of a user whose unfinished jobs have reached the bound', () => {
  let database: TestDatabase;
  let processes: readonly TestJobs[];
  let jobs: TestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    const env = { MAX_UNFINISHED_JOBS_PER_USER: String(bound), MAX_UNFINISHED_JOBS: '12' };
    jobs = await openTestJobs(database, env);
    processes = [jobs, await openTestJobs(database, env)];
  });

  afterAll(async () => {
    for (const process of processes) await process.close();
    await database.close();
  });

  const workspace = async (): Promise<string> => {
    const workspaceId = newId();
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(`INSERT INTO workspace (id, name) VALUES ($1, 'Test')`, [workspaceId]),
    );
    return workspaceId;
  };
  const start = (workspaceId: string, createdBy: string, process: TestJobs = jobs) =>
    process.app.get(JobStarter).start(process.request({ workspaceId, createdBy }));
  const refusalOf = (started: Promise<unknown>): Promise<unknown> =>
    started.then(
      () => 'started',
      (error: unknown) => (error instanceof AppError ? error.details : error),
    );
  /** Opens a request of a waiting job, by default like a `/v1` response that hands its call to the client. */
  const request = (workspaceId: string, jobId: string, columns: Readonly<Record<string, unknown>> = {}) => {
    const values = {
      ...{ workspace_id: workspaceId, job_id: jobId, id: newId(), kind: 'client_tool', title: 'Run', requester: null },
      ...{ request: { handedOver: true }, expire_action: 'fail', expires_at: new Date(Date.now() + 86_400_000) },
      ...columns,
    };
    const names = Object.keys(values);
    return jobs.rows(
      `INSERT INTO interrupt (${names.join(', ')}) VALUES (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
      Object.values(values),
    );
  };
  /** A run that is paused for its client; a lower `order` was paused earlier. */
  const pause = async (workspaceId: string, createdBy: string, order = 0): Promise<string> => {
    const { jobId } = await start(workspaceId, createdBy);
    await jobs.rows(`UPDATE job SET status = 'waiting' WHERE id = $1`, [jobId]);
    await request(workspaceId, jobId, { created_at: new Date(Date.now() - 3_600_000 + order * 1_000) });
    return jobId;
  };
  const pauseMany = async (workspaceId: string, createdBy: string, orders: readonly number[]) => {
    const paused: string[] = [];
    for (const order of orders) paused.push(await pause(workspaceId, createdBy, order));
    return paused;
  };
  const expiring = async (workspaceId: string): Promise<string[]> => {
    const rows = await jobs.rows<{ id: string }>(
      `SELECT DISTINCT job_id AS id FROM interrupt WHERE workspace_id = $1 AND status = 'open' AND expires_at < clock_timestamp()`,
      [workspaceId],
    );
    return rows.map(({ id }) => id).toSorted();
  };

  it('replaces the run that has been paused longest, not the oldest job', async () => {
    const workspaceId = await workspace();
    const user = newId();
    const paused = await pauseMany(workspaceId, user, [5, 4, 1, 2, 3]);
    await start(workspaceId, user);
    expect(await expiring(workspaceId)).toEqual([paused[2]]);
    await start(workspaceId, user);
    expect(await expiring(workspaceId)).toEqual([paused[2], paused[3]].toSorted());
  });

  it('expires all open calls of the replaced run', async () => {
    const workspaceId = await workspace();
    const user = newId();
    const [first] = await pauseMany(workspaceId, user, [1, 2, 3, 4, 5]);
    await request(workspaceId, first ?? '');
    await start(workspaceId, user);
    const open = `SELECT 1 FROM interrupt WHERE job_id = $1 AND expires_at > clock_timestamp()`;
    expect([await expiring(workspaceId), await jobs.rows(open, [first])]).toEqual([[first], []]);
  });

  it('replaces one paused run per accepted start when 12 starts arrive at two processes at once', async () => {
    const workspaceId = await workspace();
    const user = newId();
    const paused = await pauseMany(workspaceId, user, [1, 2, 3, 4, 5]);
    const ends = await Promise.all(
      Array.from({ length: 12 }, (_, i) => refusalOf(start(workspaceId, user, processes[i % 2] ?? jobs))),
    );
    expect(ends.filter((end) => end === 'started')).toHaveLength(bound);
    expect(ends.filter((end) => end !== 'started')).toEqual(
      Array.from({ length: 7 }, () => ({
        limit: 'MAX_UNFINISHED_JOBS_PER_USER',
        limitValue: bound,
        raisedBy: 'operator',
      })),
    );
    expect(await expiring(workspaceId)).toEqual(paused.toSorted());
  });

  it('replaces a paused run of the same user when the workspace has reached its bound', async () => {
    const workspaceId = await workspace();
    const [mine, other, third] = [newId(), newId(), newId()];
    const own = await pauseMany(workspaceId, mine, [1, 2]);
    await pauseMany(workspaceId, other, [1, 2, 3, 4, 5]);
    for (let i = 0; i < bound; i++) await start(workspaceId, third);
    await start(workspaceId, mine);
    expect(await expiring(workspaceId)).toEqual([own[0]]);
    const limit = { limit: 'MAX_UNFINISHED_JOBS', limitValue: 12, raisedBy: 'operator' };
    expect(await refusalOf(start(workspaceId, newId()))).toEqual(limit);
  });

  const blocked: readonly [string, (workspaceId: string, jobId: string) => Promise<unknown>][] = [
    ['also waits for an approval', (w, id) => request(w, id, { kind: 'tool_approval', request: {}, expires_at: null })],
    [
      'waits for a client that claims its calls',
      (_, id) => jobs.rows(`UPDATE interrupt SET request = '{}' WHERE job_id = $1`, [id]),
    ],
    [
      'has a call that a client has claimed',
      (_, id) =>
        jobs.rows(`UPDATE interrupt SET claim_until = clock_timestamp() + interval '1 h' WHERE job_id = $1`, [id]),
    ],
    [
      'waits for a sub-job',
      (w, id) =>
        jobs.rows(
          `INSERT INTO tool_call (workspace_id, job_id, id, round, ordinal, call_id, name, arguments, effect, status, executor, idem_key)
           VALUES ($1, $2, $3, 1, 1, 'call_1', 'ask_agent', '{}', 'once', 'running', 'job', 'k')`,
          [w, id, newId()],
        ),
    ],
    ['is being cancelled', (_, id) => jobs.rows(`UPDATE job SET cancel_requested_at = now() WHERE id = $1`, [id])],
    ['is continued', (_, id) => jobs.rows(`UPDATE job SET status = 'queued' WHERE id = $1`, [id])],
  ];

  it.each(blocked)('fails and expires nothing if each paused run %s', async (_, change) => {
    const workspaceId = await workspace();
    const user = newId();
    const paused = await pauseMany(workspaceId, user, [1, 2, 3, 4, 5]);
    for (const jobId of paused) await change(workspaceId, jobId);
    const limit = { limit: 'MAX_UNFINISHED_JOBS_PER_USER', limitValue: bound, raisedBy: 'operator' };
    expect(await refusalOf(start(workspaceId, user))).toEqual(limit);
    expect(await expiring(workspaceId)).toEqual([]);
  });

  it('does not replace a run whose job another transaction has locked', async () => {
    const workspaceId = await workspace();
    const user = newId();
    const paused = await pauseMany(workspaceId, user, [1, 2, 3, 4, 5]);
    await database.postgres.withWorkspaceSql(workspaceId, async (client) => {
      await client.query('SELECT 1 FROM job WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE', [
        workspaceId,
        paused[0],
      ]);
      await start(workspaceId, user);
    });
    expect(await expiring(workspaceId)).toEqual([paused[1]]);
  });
});
