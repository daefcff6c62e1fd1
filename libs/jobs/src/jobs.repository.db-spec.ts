import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { PrismaService, Scope } from '#platform';

import { analyze } from '../../../test/harness/analyze.js';
import { createTestDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { forbidColumns } from '../../../test/harness/forbidden-columns.js';
import { openTestJobs, type TestJobs } from '../../../test/harness/jobs.js';
import { scopeOfUser } from '../../../test/harness/notifications.js';
import { JobsRepository } from './jobs.repository.js';

let database: TestDatabase;
let jobs: TestJobs;
let scope: Scope;
let ids: readonly string[];

beforeAll(async () => {
  database = await createTestDatabase();
  jobs = await openTestJobs(database);
  scope = scopeOfUser(jobs.workspaceId, jobs.userId);
  ids = (await jobs.start(3)).map(({ jobId }) => jobId);
});
afterAll(async () => {
  await jobs.close();
  await database.close();
});

describe('JobsRepository', () => {
  it('reads jobs without their input, which can have many MiB', async () => {
    await forbidColumns(database, 'job', ['input', 'file_hashes', 'background_mode', 'key_cipher']);
    const repository = jobs.app.get(JobsRepository);
    const [first = ''] = ids;
    expect((await repository.listInScope(scope, {}, { limit: 10 })).map(({ id }) => id)).toEqual(ids.toReversed());
    expect((await repository.findManyInScope(scope, ids)).length).toBe(3);
    expect(await repository.findInScope(scope, first)).toMatchObject({ id: first, status: 'queued' });
    expect(await repository.findBelowInScope(scope, ids)).toEqual([]);
    await expect(repository.findInputInScope(scope, first)).rejects.toThrow();
  });

  it('finds the newest jobs of a label among 5,000 jobs by its index alone', async () => {
    await database.postgres.withWorkspaceSql(jobs.workspaceId, (client) =>
      client.query(
        `INSERT INTO job (workspace_id, id, kind, principal, model, input, labels)
         SELECT $1, gen_random_uuid(), 'chat', 'user:x', '', '{}', jsonb_build_object('team', CASE i % 200 WHEN 0 THEN 'billing' ELSE 'sales' END)
           FROM generate_series(1, 5000) AS i`,
        [jobs.workspaceId],
      ),
    );
    await analyze(database, ['job', 'job_label']);
    const { found, read } = await database.prisma.withWorkspace(scope, async (tx) => {
      const readSoFar = async () => {
        const [rows] = await tx.$queryRaw<{ n: number }[]>`SELECT pg_stat_get_xact_tuples_fetched('job'::regclass)::int
          + pg_stat_get_xact_tuples_returned('job'::regclass)::int + pg_stat_get_xact_tuples_returned('job_pkey'::regclass)::int
          + pg_stat_get_xact_tuples_returned('job_label_workspace_id_name_value_job_id_idx'::regclass)::int AS n`;
        return rows?.n ?? 0;
      };
      const repository = new JobsRepository({ withWorkspace: (_, work) => work(tx) } as PrismaService); // it calls no other method
      const before = await readSoFar();
      const labelled = await repository.listInScope(scope, { labels: { team: 'billing' } }, { limit: 20 });
      return { found: labelled, read: (await readSoFar()) - before };
    });
    expect([found.length, found.every(({ labels }) => labels['team'] === 'billing')]).toEqual([21, true]);
    expect(found.map(({ id }) => id)).toEqual(
      found
        .map(({ id }) => id)
        .toSorted()
        .reverse(),
    );
    expect(read).toBeLessThan(100);
  });
});
