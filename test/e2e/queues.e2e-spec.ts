import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';

describe('pg-boss in a running system', () => {
  let database: TestDatabase;
  let test: TestApi;

  beforeAll(async () => {
    database = await createTestDatabase();
    test = await startTestApi(database);
  });

  afterAll(async () => {
    await test.close();
    await database.close();
  });

  /** Queues with a message that a handler has completed, by pg-boss's own table. */
  const workedQueues = async () =>
    (
      await database.postgres.engine.query<{ name: string }>(
        `SELECT DISTINCT name FROM pgboss.job WHERE state = 'completed' AND name NOT LIKE '\\_\\_pgboss%' ORDER BY name`,
      )
    ).rows.map(({ name }) => name);

  it('delivers each kind of background work to a handler registered with work', async () => {
    const expected = ['maintenance.retention'];

    const worked = await eventually('each queue was worked', async () => {
      const names = await workedQueues();
      return names.length < expected.length ? undefined : names;
    });
    expect(worked).toEqual(expected);
  });
});
