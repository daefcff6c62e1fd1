import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { PrismaService } from '../prisma/prisma.service.js';
import { Postgres } from './postgres.js';

const WORKSPACE = '0190a0a0-0000-7000-8000-000000000001';
let database: TestDatabase;
let admin: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = new pg.Client({ connectionString: database.urls.owner });
  await admin.connect();
  await admin.query("INSERT INTO workspace (id, name) VALUES ($1, 'one')", [WORKSPACE]);
});

afterAll(async () => {
  await admin.end();
  await database.close();
});

const rename = (name: string) => ({ text: 'UPDATE workspace SET name = $1', values: [name] });
const storedName = async () => (await admin.query<{ name: string }>('SELECT name FROM workspace')).rows[0]?.name;

describe('withWorkspaceSql', () => {
  it('commits when its function resolves and rolls back when it rejects', async () => {
    await database.postgres.withWorkspaceSql(WORKSPACE, (client) => client.query(rename('two')));
    const failing = database.postgres.withWorkspaceSql(WORKSPACE, async (client) => {
      await client.query(rename('three'));
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await storedName()).toBe('two');
  });

  it('rejects with unavailable, as retryable, when its connection breaks, and works again afterwards', async () => {
    const cut = database.postgres.withWorkspaceSql(WORKSPACE, async (client) => {
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await admin.query('SELECT pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
      await client.query(rename('lost'));
    });
    await expect(cut).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    expect(await storedName()).toBe('two');
    await database.postgres.withWorkspaceSql(WORKSPACE, (client) => client.query(rename('back')));
    expect(await storedName()).toBe('back');
  });
});

it('allInWorkspace commits all of its statements, and none when one fails', async () => {
  const named = await storedName();
  const failing = database.postgres.allInWorkspace(WORKSPACE, () => [rename('never'), { text: 'SELECT 1 / 0' }]);
  await expect(failing).rejects.toThrow('division by zero');
  expect(await storedName()).toBe(named);
  const statements = [rename('all'), { text: 'SELECT 7 AS n' }];
  expect(await database.postgres.allInWorkspace(WORKSPACE, () => statements)).toEqual([[], [{ n: 7 }]]);
  expect(await storedName()).toBe('all');
});

describe('the pools', () => {
  it('survive the loss of their idle connections', async () => {
    await database.postgres.workerPool.query('SELECT 1');
    await admin.query(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name LIKE 'nightshift:%'`);
    const again = await database.postgres.workerPool
      .query('SELECT 1 AS one')
      .catch(() => database.postgres.workerPool.query('SELECT 1 AS one'));
    expect(again.rows).toEqual([{ one: 1 }]);
  });

  it('report idle connections that break, until the pools close', async () => {
    const broken = Promise.withResolvers<Error>();
    const reported: Error[] = [];
    const onIdleError = (error: Error) => {
      reported.push(error);
      broken.resolve(error);
    };
    const postgres = Postgres.connect(database.urls, { poolSize: 1, applicationName: 'breaking', onIdleError });
    await postgres.workerPool.query('SELECT 1');
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'breaking:engine'`,
    );
    expect(await broken.promise).toMatchObject({ code: '57P01' });

    const client = await postgres.workerPool.connect();
    client.release();
    await postgres.close();
    postgres.workerPool.emit('error', new Error('too late'), client); // as the pool does when the server is faster than we are
    expect(reported).toHaveLength(1);
  });

  it('keep a connection for lease renewals when all others are busy', async () => {
    const postgres = Postgres.connect(database.urls, { poolSize: 1 });
    const held = await postgres.workerPool.connect();
    expect((await postgres.reserved.query('SELECT current_user AS it')).rows).toEqual([{ it: 'nightshift_engine' }]);
    held.release();
    await postgres.close();
    await postgres.close();
  });

  it('set timeouts for statements, locks and idle transactions', async () => {
    const { rows } = await database.postgres.api.query(`SELECT name, setting FROM pg_settings
      WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY name`);
    expect(rows).toEqual([
      { name: 'idle_in_transaction_session_timeout', setting: '30000' },
      { name: 'lock_timeout', setting: '5000' },
      { name: 'statement_timeout', setting: '30000' },
    ]);
  });
});

it('Prisma rejects with unavailable, too, when the connection breaks', async () => {
  const postgres = Postgres.connect({ ...database.urls, api: 'postgres://nobody:x@127.0.0.1:1/none' }, { poolSize: 1 });
  const prisma = new PrismaService(postgres);
  const reading = prisma.withWorkspace({ workspaceId: WORKSPACE }, (tx) => tx.job.findMany());
  await expect(reading).rejects.toMatchObject({ code: 'unavailable', retryable: true });
  await expect(postgres.withWorkspaceSql(WORKSPACE, () => Promise.resolve())).rejects.toMatchObject({
    code: 'unavailable',
  });
  await prisma.close();
  await postgres.close();
});
