import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Scope } from '#platform';

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
    await forbidColumns(database, 'job', ['input', 'background_mode', 'key_cipher']);
    const repository = jobs.app.get(JobsRepository);
    const [first = ''] = ids;
    expect((await repository.listInScope(scope, {}, { limit: 10 })).map(({ id }) => id)).toEqual(ids.toReversed());
    expect((await repository.findManyInScope(scope, ids)).length).toBe(3);
    expect(await repository.findInScope(scope, first)).toMatchObject({ id: first, status: 'queued' });
    expect(await repository.findBelowInScope(scope, ids)).toEqual([]);
    await expect(repository.findInputInScope(scope, first)).rejects.toThrow();
  });
});
