import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { AppError, newId, type PrismaTransaction } from '#platform';

import { JobStarter } from '../../libs/jobs/src/start/job-starter.js';
import { StartRepository } from '../../libs/jobs/src/start/start.repository.js';
import type { StartRequest } from '../../libs/jobs/src/start/start-request.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';

const limits = { MAX_UNFINISHED_JOBS: '5', MAX_UNFINISHED_JOBS_PER_USER: '3' };

describe('limits of stored jobs', () => {
  let database: TestDatabase;
  let jobs: TestJobs;

  beforeAll(async () => {
    database = await createTestDatabase();
    jobs = await openTestJobs(database, limits);
  });
  afterAll(async () => {
    await jobs.close();
    await database.close();
  });

  const asOwner = async (sql: string, values: unknown[] = []): Promise<void> => {
    const owner = new pg.Client({ connectionString: database.urls.owner });
    await owner.connect();
    await owner.query('SET synchronous_commit = on'); // otherwise the vacuum may not mark the new rows as visible
    await owner.query(sql, values);
    await owner.end();
  };
  const workspace = async (): Promise<string> => {
    const workspaceId = newId();
    await asOwner(`INSERT INTO workspace (id, name) VALUES ($1, 'Test')`, [workspaceId]);
    return workspaceId;
  };
  const start = (request: StartRequest) =>
    jobs.app
      .get(JobStarter)
      .start(request)
      .then(
        ({ replayed }) => (replayed ? 'replayed' : 'started'),
        (error: unknown) => (error instanceof AppError ? error.message : String(error)),
      );

  it('accept a start of a full user that replays a key or supersedes jobs, and refuse other starts', async () => {
    const workspaceId = await workspace();
    const own = { workspaceId, createdBy: newId() };
    const thread = { ref: newId(), createTitle: 'T' };
    const keyed = jobs.request({ ...own, idempotency: { key: newId(), requestHash: '00' } });
    expect(await start(keyed)).toBe('started');
    for (let i = 0; i < 2; i += 1) {
      expect(await start(jobs.request({ ...own, thread, whenBusy: 'enqueue' }))).toBe('started');
    }
    const full = expect.stringContaining('(MAX_UNFINISHED_JOBS_PER_USER)');
    expect(await start(jobs.request({ ...own, thread: { ref: newId(), createTitle: 'T', isNew: true } }))).toEqual(
      full,
    );
    expect(await start(jobs.request({ ...own, thread, whenBusy: 'enqueue' }))).toEqual(full);
    expect(await start({ ...keyed, jobId: newId() })).toBe('replayed');
    expect(await start(jobs.request({ ...own, thread, whenBusy: 'interrupt' }))).toBe('started');
  });

  it('accept exactly as many starts of several users as the workspace may store', async () => {
    const workspaceId = await workspace();
    const ends: string[] = [];
    for (let i = 0; i < 7; i += 1) ends.push(await start(jobs.request({ workspaceId, createdBy: newId() })));
    expect(ends.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => 'started'));
    for (const end of ends.slice(5)) expect(end).toContain('(MAX_UNFINISHED_JOBS)');
  });

  it('count thousands of waiting jobs in the index of unfinished jobs, without their rows', async () => {
    const workspaceId = await workspace();
    const createdBy = newId();
    await start(jobs.request({ workspaceId, createdBy }));
    await asOwner(
      `INSERT INTO job SELECT (jsonb_populate_record(j, jsonb_build_object('id', uuidv7(), 'status', 'waiting',
              'created_by', CASE WHEN n % 10 = 0 THEN j.created_by ELSE md5((n % 40)::text)::uuid END))).*
         FROM job j, generate_series(1, 10000) AS n WHERE j.workspace_id = $1`,
      [workspaceId],
    );
    await asOwner('VACUUM ANALYZE job');
    const open = await openTestJobs(database);
    const sent: [sql: string, ...values: unknown[]][] = [];
    await open.app.get(StartRepository).inWorkspace(workspaceId, async (tx) => {
      const recording = Object.create(tx, {
        $queryRawUnsafe: {
          value: (sql: string, ...values: unknown[]) => {
            sent.push([sql, ...values]);
            return tx.$queryRawUnsafe(sql, ...values);
          },
        },
      }) as PrismaTransaction;
      await open.app.get(StartRepository).facts(recording, workspaceId, [open.request({ workspaceId, createdBy })]);
    });
    await open.close();
    const [load = '', ...values] = sent.find(([sql]) => sql.includes('unfinished')) ?? [];
    const plan = await database.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const explained = await tx.$queryRawUnsafe<{ 'QUERY PLAN': string }[]>(
        `EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS) ${load}`,
        ...values,
      );
      return explained.map((row) => row['QUERY PLAN']).join('\n');
    });
    expect(plan.match(/Index Only Scan using job_unfinished .*\(actual/g)).toHaveLength(2);
    expect(plan).not.toMatch(/(Seq|Bitmap Heap|Index) Scan (using \S+ )?on job .*\(actual/);
  });
});
