import pg from 'pg';

import type { TestDatabase } from './database.js';

/** Lets Postgres refuse each `on` of the row with this id, as if a constraint were violated. Returns how to allow it again. */
export async function refuseRow(
  database: TestDatabase,
  { table, id, on }: { readonly table: string; readonly id: string; readonly on: 'UPDATE' | 'DELETE' },
): Promise<() => Promise<void>> {
  const asOwner = async (sql: string) => {
    const owner = new pg.Client({ connectionString: database.urls.owner });
    await owner.connect();
    await owner.query(sql).finally(() => owner.end());
  };
  await asOwner(`
    CREATE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the row is refused'; END $$;
    CREATE TRIGGER refuse_row BEFORE ${on} ON ${table} FOR EACH ROW WHEN (OLD.id = '${id}') EXECUTE FUNCTION refuse_row()`);
  return () => asOwner('DROP FUNCTION refuse_row CASCADE');
}
