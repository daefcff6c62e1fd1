import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Scope } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { forbidColumns } from '../../../test/harness/forbidden-columns.js';
import { openTestJobs, type TestJobs } from '../../../test/harness/jobs.js';
import { scopeOfUser } from '../../../test/harness/notifications.js';
import { JobsRepository } from './jobs.repository.js';

let database: TestDatabase;
let door: TestJobs;
let scope: Scope;
let ids: readonly string[];

beforeAll(async () => {
  database = await createTestDatabase();
  door = await openTestJobs(database);
  scope = scopeOfUser(door.workspaceId, door.userId);
  ids = (await door.start(3)).map(({ jobId }) => jobId);
});
afterAll(async () => {
  await door.close();
  await database.close();
});

describe('jobs that are shown', () => {
  it('are read without what they were asked, which can be many MiB', async () => {
    await forbidColumns(database, 'job', ['input', 'background_mode', 'key_cipher']);
    const jobs = door.app.get(JobsRepository);
    const [first = ''] = ids;
    expect((await jobs.listInScope(scope, {}, { limit: 10 })).map(({ id }) => id)).toEqual(ids.toReversed());
    expect((await jobs.findManyInScope(scope, ids)).length).toBe(3);
    expect(await jobs.findInScope(scope, first)).toMatchObject({ id: first, status: 'queued' });
    expect(await jobs.findBelowInScope(scope, ids)).toEqual([]);
    await expect(jobs.findInputInScope(scope, first)).rejects.toThrow();
  });
});
