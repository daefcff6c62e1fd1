import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';

import { type InterruptFilter, InterruptsRepository } from '#jobs';
import { newId, type Scope } from '#platform';

import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';

let database: TestDatabase;
let jobs: TestJobs;
/** A job that has asked three times, and a sub-job of it that has asked twice, among many others. */
let root: string;
let below: string;

beforeAll(async () => {
  database = await createTestDatabase();
  jobs = await openTestJobs(database);
  const started = await jobs.start(400);
  [root = '', below = ''] = started.map(({ jobId }) => jobId);
  for (const { jobId } of started.slice(2)) await ask(jobId, null, 50);
  await ask(root, null, 3);
  await ask(below, root, 2);
  const owner = new pg.Client({ connectionString: database.urls.owner });
  await owner.connect();
  await owner.query('ANALYZE interrupt, job');
  await owner.end();
});
afterAll(async () => {
  await jobs.close();
  await database.close();
});

async function ask(jobId: string, rootJobId: string | null, count: number): Promise<void> {
  await jobs.rows(
    `INSERT INTO interrupt (workspace_id, id, job_id, root_job_id, kind, status, outcome, decided_at, title, request)
     SELECT $1, uuidv7(), $2, $3, 'human_input', CASE WHEN o THEN 'open' ELSE 'resolved' END, CASE WHEN NOT o THEN '{}'::jsonb END,
            CASE WHEN NOT o THEN now() END, '', '{}'
       FROM (SELECT i % 2 = 0 AS o FROM generate_series(1, $4::int) i) n`,
    [jobs.workspaceId, jobId, rootJobId, count],
  );
}

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** What the list of a filter finds, and the plan of what it asked. */
async function list(where: object, filter: InterruptFilter) {
  const { workspaceId, userId } = jobs;
  const whereOf: Scope['where'] = (subject) => (subject === 'Interrupt' ? { workspaceId } : where);
  const scope: Scope = { workspaceId, principal: `user:${userId}`, userId, where: whereOf };
  const query = jest.spyOn(pg.Client.prototype, 'query');
  const found = await jobs.app.get(InterruptsRepository).listInScope(scope, filter, { limit: 20 });
  const asked = query.mock.calls.map(([statement]) => statement as unknown as Statement | string);
  query.mockRestore();
  const listing = asked.find(
    (one): one is Statement => typeof one === 'object' && one.text.includes('"interrupt"."root_job_id" ='),
  );
  const plan = await database.postgres.withWorkspaceSql(workspaceId, async (sql) => {
    const { rows } = await sql.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${listing?.text ?? ''}`, [
      ...(listing?.values ?? []),
    ]);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
  return { jobIds: found.map(({ jobId }) => jobId), plan };
}

describe('requests of a job and its descendants', () => {
  it.each<[string, () => object, InterruptFilter]>([
    ['all of them', () => ({ workspaceId: jobs.workspaceId }), {}],
    ['those that are open', () => ({ workspaceId: jobs.workspaceId }), { statuses: ['open'] }],
    ['those of one requester', () => ({ workspaceId: jobs.workspaceId, createdBy: null }), { statuses: ['open'] }],
  ])('use two indexes and read nothing else: %s', async (_, where, filter) => {
    const { jobIds, plan } = await list(where(), { ...filter, rootJobId: root });
    const count = filter.statuses === undefined ? [2, 3] : [1, 1];
    expect([below, root].map((id) => jobIds.filter((found) => found === id).length)).toEqual(count);
    expect(jobIds).toHaveLength(count.reduce((a, b) => a + b));
    expect(plan).toContain('interrupt_below_root');
    expect(plan).not.toMatch(/Seq Scan on interrupt|interrupt_pkey|interrupt_workspace_id_status_id_idx/);
  });

  it('return an empty list for an unknown job', async () => {
    expect((await list({ workspaceId: jobs.workspaceId }, { rootJobId: newId() })).jobIds).toEqual([]);
  });
});
