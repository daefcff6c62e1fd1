import { chmod, mkdtemp, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { afterEach, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';

import { dataDirSecret } from './data-secret.js';
import { databaseUrls } from './database-urls.js';
import { EmbeddedPostgres } from './embedded-postgres.js';
import { migrate } from './migrator.js';

let dataDir: string;
let started: EmbeddedPostgres[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'nightshift-embedded-'));
  await chmod(dataDir, 0o755);
  started = [];
});

afterEach(async () => {
  for (const server of started) await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(): Promise<EmbeddedPostgres> {
  const server = await EmbeddedPostgres.start({ dataDir });
  started.push(server);
  return server;
}

async function query<T extends object>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The process id of the postmaster. */
async function serverPid(url: string): Promise<number> {
  const rows = await query<{ pid: string }>(url, "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid");
  return Number(rows[0]?.pid);
}

it('EmbeddedPostgres keeps its data over a restart, and committed data over a crash', async () => {
  const first = await start();
  await query(first.url, 'CREATE TABLE kept (x int); INSERT INTO kept VALUES (1)');
  await first.stop();

  const second = await start();
  expect(await query(second.url, 'SELECT x FROM kept')).toEqual([{ x: 1 }]);
  await query(second.url, 'INSERT INTO kept VALUES (2)');
  const crashed = new Promise<string>((resolve) => {
    second.onUnexpectedExit(resolve);
  });
  process.kill(await serverPid(second.url), 'SIGKILL');
  await crashed;
  await second.stop();

  const third = await start();
  expect(await query(third.url, 'SELECT x FROM kept ORDER BY x')).toEqual([{ x: 1 }, { x: 2 }]);
});

it('EmbeddedPostgres starts after a crash while a process of the crashed server still runs', async () => {
  const first = await start();
  const [left] = await query<{ pid: number }>(
    first.url,
    `SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'`,
  );
  const pid = await serverPid(first.url);
  const crashed = new Promise<string>((resolve) => {
    first.onUnexpectedExit(resolve);
  });
  process.kill(left?.pid ?? NaN, 'SIGSTOP');
  process.kill(pid, 'SIGKILL');
  await crashed;
  await first.stop();
  // The stopped process resumes after a second, as on a busy machine.
  const resumed = setTimeout(1_000).then(() => process.kill(left?.pid ?? NaN, 'SIGCONT'));
  const [second] = await Promise.all([start(), resumed]);
  expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

it('EmbeddedPostgres refuses a second start while one runs, and names the directory and the port', async () => {
  const first = await start();
  await expect(EmbeddedPostgres.start({ dataDir })).rejects.toMatchObject({
    code: 'already_running',
    message: expect.stringContaining(`${dataDir} (process ${process.pid}, its Postgres on port ${first.port})`),
  });
  expect(await query(first.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

it('EmbeddedPostgres lets exactly one of two concurrent starts use the directory', async () => {
  const results = await Promise.allSettled([start(), start()]);
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

it('EmbeddedPostgres replaces a server that a killed process left running', async () => {
  const first = await start();
  await query(first.url, 'CREATE TABLE kept (x int)');
  // What the kernel does for a process that is killed: its lock goes, its server stays.
  const lock = Reflect.get(first, 'lock') as { release(): Promise<void> }; // the private field of that name
  await lock.release();
  const ended = new Promise<string>((resolve) => {
    first.onUnexpectedExit(resolve);
  });
  const second = await start();
  await ended;
  expect(await query(second.url, 'SELECT x FROM kept')).toEqual([]);
});

it('EmbeddedPostgres requires the password, which only its own user can read', async () => {
  const server = await start();
  const wrong = new URL(server.url);
  wrong.password = 'wrong';
  await expect(query(wrong.toString(), 'SELECT 1')).rejects.toThrow('password authentication failed');
  expect((await stat(join(dataDir, 'postgres-password'))).mode & 0o777).toBe(0o600);
  const secrets = await Promise.all([dataDirSecret(dataDir), dataDirSecret(dataDir)]);
  expect(secrets[0]).toHaveLength(43);
  expect(secrets[0]).toBe(secrets[1]);
  expect((await stat(join(dataDir, 'secret'))).mode & 0o777).toBe(0o600);
});

it('EmbeddedPostgres lets a login without superuser rights create the roles and migrate', async () => {
  const server = await start();
  await query(server.url, "CREATE ROLE plain LOGIN CREATEROLE PASSWORD 'p'; ALTER DATABASE nightshift OWNER TO plain");
  const owner = new URL(server.url);
  owner.username = 'plain';
  owner.password = 'p';
  const urls = databaseUrls(owner.toString(), 'x'.repeat(32));
  expect((await migrate(urls)).applied.length).toBeGreaterThan(0);
  expect(await query(urls.api, 'SELECT id FROM job')).toEqual([]);
  expect(await query(urls.worker, 'SELECT id FROM job')).toEqual([]);
  await expect(query(urls.worker, 'SELECT id FROM thread')).rejects.toThrow('permission denied');
  const changed = databaseUrls(owner.toString(), 'y'.repeat(32));
  await migrate(changed);
  expect(await query(changed.api, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

const asRoot = process.getuid?.() === 0 ? it : it.skip;

asRoot('finds another place when the directory is closed to the user it runs as', async () => {
  await chmod(dataDir, 0o700);
  const first = await start();
  const place = await readlink(join(dataDir, 'postgres'));
  expect(place).toBe(first.dataDir);
  await query(first.url, 'CREATE TABLE kept (x int)');
  await first.stop();
  const second = await start();
  expect(await query(second.url, 'SELECT x FROM kept')).toEqual([]);
  await second.stop();
  await rm(dirname(place), { recursive: true });
});
