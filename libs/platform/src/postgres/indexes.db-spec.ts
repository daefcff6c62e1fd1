import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';

/** Indexes of one table with the same columns, order, expressions and predicate: each write pays for both. */
const TWINS = `
  SELECT array_agg(i.indexrelid::regclass::text ORDER BY i.indexrelid) AS names
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
   WHERE c.relnamespace = 'public'::regnamespace
   GROUP BY i.indrelid, i.indkey::text, i.indclass::text, i.indcollation::text, i.indoption::text,
            pg_get_expr(i.indexprs, i.indrelid), pg_get_expr(i.indpred, i.indrelid)
  HAVING count(*) > 1`;

let database: TestDatabase;
let owner: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  owner = new pg.Client({ connectionString: database.urls.owner });
  await owner.connect();
});

afterAll(async () => {
  await owner.end();
  await database.close();
});

it('the database has no two equal indexes', async () => {
  const { rows } = await owner.query<{ names: string[] }>(TWINS);
  expect(rows.map(({ names }) => names)).toEqual([]);
});
