import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';

const TENANT_TABLES = `
  SELECT c.oid, c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced,
         EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND 'nightshift_api'::regrole = ANY (p.polroles)
                    AND p.polqual IS NOT NULL AND pg_get_expr(p.polqual, p.polrelid) LIKE '%app.workspace%') AS policy,
         (SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
           WHERE i.indrelid = c.oid AND i.indisprimary) AS leads,
         pg_get_userbyid(c.relowner) AS owner
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relkind IN ('r', 'p') AND n.nspname = 'public'
     AND EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'workspace_id' AND NOT a.attisdropped)
   ORDER BY c.relname`;

/** Foreign keys between two tables with a workspace_id that do not carry it on both sides. */
const LOOSE_KEYS = `
  SELECT f.conrelid::regclass || '.' || f.conname AS name
    FROM pg_constraint f
    JOIN pg_attribute near ON near.attrelid = f.conrelid AND near.attname = 'workspace_id'
    JOIN pg_attribute far ON far.attrelid = f.confrelid AND far.attname = 'workspace_id'
   WHERE f.contype = 'f' AND f.connamespace = 'public'::regnamespace
     AND NOT EXISTS (SELECT 1 FROM generate_subscripts(f.conkey, 1) i
                      WHERE f.conkey[i] = near.attnum AND f.confkey[i] = far.attnum)`;

interface TenantTable {
  readonly name: string;
  readonly forced: boolean;
  readonly policy: boolean;
  readonly leads: string;
  readonly owner: string;
}

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

async function tenantTables(): Promise<TenantTable[]> {
  return (await owner.query<TenantTable>(TENANT_TABLES)).rows;
}

async function openTables(): Promise<string[]> {
  return (await tenantTables()).filter((table) => !table.forced || !table.policy).map(({ name }) => name);
}

async function looseKeys(): Promise<string[]> {
  return (await owner.query<{ name: string }>(LOOSE_KEYS)).rows.map(({ name }) => name);
}

describe('every table with a workspace_id', () => {
  it('appears in the catalog query', async () => {
    const names = (await tenantTables()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['job', 'job_event', 'message', 'round', 'thread', 'tool_call']));
  });

  it('forces row-level security with a policy on the workspace', async () => {
    expect(await openTables()).toEqual([]);
  });

  it('refers to other tenant tables by workspace_id as well', async () => {
    expect(await looseKeys()).toEqual([]);
  });

  it('leads its primary key with workspace_id and belongs to the owner role', async () => {
    const wrong = (await tenantTables()).filter(
      ({ leads, owner: by }) => leads !== 'workspace_id' || by !== 'nightshift_owner',
    );
    expect(wrong).toEqual([]);
  });
});

describe('the check itself', () => {
  it('finds a table without a policy and a key without a workspace', async () => {
    await owner.query('BEGIN');
    await owner.query(`CREATE TABLE hole (workspace_id uuid, id uuid PRIMARY KEY)`);
    await owner.query('CREATE TABLE leak (workspace_id uuid, id uuid PRIMARY KEY REFERENCES hole (id))');
    await owner.query('ALTER TABLE leak ENABLE ROW LEVEL SECURITY; ALTER TABLE leak FORCE ROW LEVEL SECURITY');
    await owner.query('CREATE POLICY all_of_them ON leak TO nightshift_api USING (true)');
    expect(await openTables()).toEqual(['hole', 'leak']);
    expect(await looseKeys()).toEqual(['leak.leak_id_fkey']);
    await owner.query('ROLLBACK');
  });
});

describe('the serving roles', () => {
  it('cannot bypass row-level security, own nothing, and lack superuser rights', async () => {
    const { rows } = await owner.query(`
      SELECT rolname FROM pg_roles WHERE rolname IN ('nightshift_api', 'nightshift_engine')
         AND NOT (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb)
         AND NOT pg_has_role(rolname, 'nightshift_owner', 'MEMBER') ORDER BY 1`);
    expect(rows).toEqual([{ rolname: 'nightshift_api' }, { rolname: 'nightshift_engine' }]);
  });

  it('see one workspace at a time, and none when the transaction is over', async () => {
    const [first, second] = ['0190a0a0-0000-7000-8000-000000000001', '0190a0a0-0000-7000-8000-000000000002'];
    await owner.query("INSERT INTO workspace (id, name) VALUES ($1, 'one'), ($2, 'two')", [first, second]);
    const seen = await database.prisma.withWorkspace({ workspaceId: first }, (tx) => tx.workspace.findMany());
    expect(seen.map(({ id }) => id)).toEqual([first]);
    const sql = await database.postgres.withWorkspaceSql(second, (client) => client.query('SELECT id FROM workspace'));
    expect(sql.rows).toEqual([{ id: second }]);
    expect((await database.postgres.api.query('SELECT id FROM workspace')).rows).toEqual([]);
    const stealing = database.postgres.withWorkspaceSql(second, (client) =>
      client.query('INSERT INTO thread (workspace_id, id, created_by) VALUES ($1, $1, $1)', [first]),
    );
    await expect(stealing).rejects.toThrow('row-level security');
  });
});
