import pg from 'pg';

import type { TestDatabase } from './database.js';

/** Updates the statistics of tables, so that the plans of the next statements fit the rows. */
export async function analyze({ urls }: Pick<TestDatabase, 'urls'>, tables: readonly string[]): Promise<void> {
  const owner = new pg.Client({ connectionString: urls.owner });
  await owner.connect();
  try {
    await owner.query(`ANALYZE ${tables.join(', ')}`);
  } finally {
    await owner.end();
  }
}
