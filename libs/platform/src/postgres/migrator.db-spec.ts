import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { createEmptyDatabase, dropTestDatabase } from '../../../../test/harness/database.js';
import { type DatabaseUrls, withDatabase } from './database-urls.js';
import { migrate } from './migrator.js';
import { Postgres } from './postgres.js';

let count = 0;
let name: string;
let urls: DatabaseUrls;
let directory: string;

beforeEach(async () => {
  count += 1;
  name = `migrator_${process.pid}_${count}`;
  urls = await createEmptyDatabase(name);
  directory = await mkdtemp(join(tmpdir(), 'migrations-'));
});

afterEach(async () => {
  await dropTestDatabase(name);
  await rm(directory, { recursive: true });
});

async function writeMigration(file: string, sql: string): Promise<void> {
  await mkdir(join(directory, file), { recursive: true });
  await writeFile(join(directory, file, 'migration.sql'), sql);
}

async function query<T extends object>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('migrate', () => {
  it('applies each file once when several processes start concurrently', async () => {
    const results = await Promise.all([migrate(urls), migrate(urls), migrate(urls)]);
    const applied = results.flatMap((result) => result.applied);
    expect(applied.length).toBeGreaterThan(0);
    expect(new Set(applied).size).toBe(applied.length);
    expect(await migrate(urls)).toEqual({ applied: [] });
  });

  it('migrates two databases of one server concurrently, although they share roles', async () => {
    const other = `${name}_other`;
    const otherUrls = await createEmptyDatabase(other);
    await Promise.all([migrate(urls), migrate(otherUrls)]);
    await dropTestDatabase(other);
    expect(await query(urls.api, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('refuses a file that changed after it was applied', async () => {
    await writeMigration('1_a', 'CREATE TABLE a (x int)');
    await migrate(urls, { directory });
    await writeMigration('1_a', 'CREATE TABLE a (x bigint)');
    await expect(migrate(urls, { directory })).rejects.toMatchObject({
      code: 'migration_changed',
      details: { name: '1_a' },
    });
  });

  it('accepts a file whose earlier version was applied when the file names its checksum', async () => {
    const first = 'CREATE TABLE one (id int);';
    await writeMigration('1_one', first);
    await migrate(urls, { directory });
    const checksum = createHash('sha256').update(first).digest('hex');
    await writeMigration('1_one', `-- replaces: ${checksum}\nCREATE TABLE one (id integer);`);
    expect(await migrate(urls, { directory })).toEqual({ applied: [] });
  });

  it('builds an index concurrently in a file without a transaction, also after a failed attempt', async () => {
    await writeMigration('1_one', 'CREATE TABLE one (id int); INSERT INTO one VALUES (1), (1);');
    const build =
      '-- no transaction\n-- Ids; of one table.\nDROP INDEX CONCURRENTLY IF EXISTS one_id;\nCREATE UNIQUE INDEX CONCURRENTLY one_id\n  ON one (id);\n';
    await writeMigration('2_two', build);
    await expect(migrate(urls, { directory })).rejects.toMatchObject({ code: 'migration_failed' });
    await query(urls.owner, 'DELETE FROM one');
    const results = await Promise.all([migrate(urls, { directory }), migrate(urls, { directory })]);
    expect(results.flatMap(({ applied }) => applied)).toEqual(['2_two']);
    const valid = "SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = 'one_id'::regclass";
    expect(await query(urls.owner, valid)).toEqual([{ valid: true }]);
  });

  it('rolls back a file that fails, and continues with it once it is corrected', async () => {
    await writeMigration('1_a', 'CREATE TABLE a (x int)');
    await writeMigration('2_b', 'CREATE TABLE b (x int); SELECT 1/0;');
    await expect(migrate(urls, { directory })).rejects.toMatchObject({ code: 'migration_failed' });
    expect(await query(urls.owner, "SELECT to_regclass('a') AS a, to_regclass('b') AS b")).toEqual([
      { a: 'a', b: null },
    ]);
    await writeMigration('2_b', 'CREATE TABLE b (x int)');
    expect(await migrate(urls, { directory })).toEqual({ applied: ['2_b'] });
  });

  it('runs a file with functions as one script', async () => {
    await writeMigration(
      '1_f',
      'CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 7; END $$; SELECT f();',
    );
    await migrate(urls, { directory });
    expect(await query(urls.owner, 'SELECT f()')).toEqual([{ f: 7 }]);
  });

  it('does not change a newer database, so that an old build serves beside a new one', async () => {
    await writeMigration('1_a', 'CREATE TABLE a (x int)');
    await writeMigration('2_b', 'CREATE TABLE b (x int)');
    await migrate(urls, { directory });
    await rm(join(directory, '2_b'), { recursive: true });
    expect(await migrate(urls, { directory })).toEqual({ applied: [] });
  });
});

/** The roles exist already in this cluster, so the login is granted them as an administrator would do it. */
describe('a login without superuser rights', () => {
  const login = `plain_${process.pid}`;

  afterEach(async () => {
    await query(urls.owner, `REASSIGN OWNED BY ${login} TO postgres; DROP OWNED BY ${login}; DROP ROLE ${login}`);
  });

  it('migrates a database of its own, and both serving roles work in it', async () => {
    await query(urls.owner, `CREATE ROLE ${login} LOGIN CREATEROLE PASSWORD 'p'`);
    await query(
      urls.owner,
      'DO $$ BEGIN CREATE ROLE nightshift_owner; EXCEPTION WHEN duplicate_object THEN NULL; END $$',
    );
    await query(urls.owner, `GRANT nightshift_owner TO ${login} WITH ADMIN OPTION`);
    await query(urls.owner, `ALTER DATABASE ${name} OWNER TO ${login}`);
    const owner = new URL(urls.owner);
    owner.username = login;
    owner.password = 'p';
    const result = await migrate({ ...urls, owner: owner.toString() });
    expect(result.applied.length).toBeGreaterThan(0);
    const postgres = Postgres.connect(urls, { poolSize: 2 });
    const none = await postgres.withWorkspaceSql('0190a0a0-0000-7000-8000-000000000000', (client) =>
      client.query('SELECT * FROM job'),
    );
    expect(none.rows).toEqual([]);
    expect((await postgres.workerPool.query('SELECT * FROM job')).rows).toEqual([]);
    await postgres.close();
  });

  it('names the missing rights before it changes anything', async () => {
    await query(urls.owner, `CREATE ROLE ${login} LOGIN PASSWORD 'p'`);
    const owner = new URL(urls.owner);
    owner.username = login;
    owner.password = 'p';
    await expect(migrate({ ...urls, owner: owner.toString() })).rejects.toMatchObject({
      code: 'migration_not_allowed',
      message: expect.stringContaining('CREATE on the database'),
    });
    expect(await query(urls.owner, "SELECT to_regclass('_migration') AS it")).toEqual([{ it: null }]);
  });
});

it('withDatabase keeps the parameters of the URL', () => {
  expect(withDatabase('postgres://a:b@h:5/x?sslmode=require', 'y')).toBe('postgres://a:b@h:5/y?sslmode=require');
});
