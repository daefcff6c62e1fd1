import pg from 'pg';

import type { TestDatabase } from './database.js';

/** Revokes the api role's right to read these columns of a table: every later statement that reads them fails. */
export async function forbidColumns(
  { urls }: Pick<TestDatabase, 'urls'>,
  table: string,
  columns: readonly string[],
): Promise<void> {
  const owner = new pg.Client({ connectionString: urls.owner });
  await owner.connect();
  try {
    const { rows } = await owner.query<{ names: string }>(
      `SELECT string_agg(quote_ident(column_name), ', ') AS names FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name = $1 AND column_name <> ALL ($2)`,
      [table, columns],
    );
    await owner.query(`REVOKE SELECT ON ${table} FROM nightshift_api`);
    await owner.query(`GRANT SELECT (${rows[0]?.names ?? ''}) ON ${table} TO nightshift_api`);
  } finally {
    await owner.end();
  }
}
