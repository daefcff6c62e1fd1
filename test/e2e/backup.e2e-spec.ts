import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { migrate } from '#platform';

import { findPgTools } from '../../libs/platform/src/postgres/backup/pg-tools.js';
import { runCli } from '../harness/cli.js';
import { createEmptyDatabase, dropTestDatabase, TEST_SECRET } from '../harness/database.js';
import { runToEnd, startProcess } from '../harness/processes.js';

/** The Postgres of the tests is 18; its package has no client programs. */
const tools = await findPgTools({ major: 18, text: '18' }, process.env['PATH'] ?? '').catch(() => null);
const path = `${tools?.folder ?? ''}:${process.env['PATH'] ?? ''}`;

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightshift-backup-'));
  await runToEnd(['--help']); // compiles
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const place = (name: string) => join(folder, name);
const nightshift = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runCli(words, { env: { PATH: path, ...env } });

describe('nightshift backup', () => {
  (tools === null ? it : it.skip)('names the package to install where no pg_dump fits the server', async () => {
    mkdirSync(place('empty'));
    writeFileSync(place('empty/postgres-password'), 'x');
    const ended = await nightshift(['backup', place('none.dump'), '--data-dir', place('empty'), '--json']);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.parse(ended.stderr)).toMatchObject({
      error: { code: 'pg_tools_missing', message: expect.stringContaining('postgresql-client-18') },
    });
    expect(readdirSync(folder)).not.toContain('none.dump');
    expect(readdirSync(place('empty'))).toEqual(['postgres-password']);
  });

  it.each([
    [['backup', 'a.dump'], 'contains no database'],
    [['restore', 'a.dump'], 'contains no secret of an installation'],
  ])('%j creates nothing in a data directory that does not exist', async ([command = '', file = ''], message) => {
    const ended = await nightshift([command, place(file), '--data-dir', place('mistyped'), '--json']);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(JSON.parse(ended.stderr)).toMatchObject({
      error: { code: 'no_installation', message: expect.stringContaining(message) },
    });
    expect(existsSync(place('mistyped'))).toBe(false);
  });

  it('refuses a file that cannot be written or read before the database is opened', async () => {
    mkdirSync(place('checked'));
    for (const file of ['postgres-password', 'secret']) writeFileSync(place(`checked/${file}`), 'x');
    const at = ['--data-dir', place('checked')];
    expect(await nightshift(['backup', place('nowhere/a.dump'), ...at])).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining(`The folder ${place('nowhere')} does not exist.`) },
    });
    expect(await nightshift(['restore', place('absent.dump'), ...at])).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('the file does not exist') },
    });
    expect(readdirSync(place('checked'))).toEqual(['postgres-password', 'secret']);
  });

  it.each([
    [['backup'], 'missing required argument'],
    [['restore', 'x', '--relpace'], '--replace'],
  ])('refuses %j as usage', async (words, message) => {
    expect(await nightshift(words)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});

(tools === null ? describe.skip : describe)('a backup by pg_dump of the version of the server', () => {
  const names: string[] = [];

  afterEach(async () => {
    for (const name of names.splice(0)) await dropTestDatabase(name);
  });

  it('restores every job of the embedded Postgres, and waiting jobs continue', async () => {
    const [from, to, file] = [place('from'), place('to'), place('embedded.dump')];
    const before = await startProcess({ role: 'all', flags: ['--data-dir', from] });
    const env = { DATA_DIR: from };
    await nightshift(['run', 'What is 2 ^ 10?', '--tools', 'calculate', '--json'], env);
    const waiting = await nightshift(['run', 'What is 17 * 23?', '--tools', 'calculate', '--ask', '--json'], env);
    expect(waiting.code).toBe(6);
    const jobs = (await nightshift(['jobs', '--json'], env)).stdout;

    expect(await nightshift(['backup', file, '--json'], env)).toMatchObject({ code: 0 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await nightshift(['backup', file, '--json'], env)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('backup_exists') },
    });
    expect(await nightshift(['restore', file, '--replace', '--json'], env)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('already_running') },
    });
    await before.stop();
    mkdirSync(to);
    copyFileSync(join(from, 'secret'), join(to, 'secret'));
    expect(await nightshift(['restore', file, '--data-dir', to])).toMatchObject({ code: 0 });
    expect(await nightshift(['restore', file, '--data-dir', to, '--json'])).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('database_not_empty') },
    });
    copyFileSync(join(from, 'demo-api-key'), join(to, 'demo-api-key'));
    expect(await nightshift(['restore', file, '--data-dir', to, '--replace'])).toMatchObject({ code: 0 });

    const after = await startProcess({ role: 'all', flags: ['--data-dir', to] });
    expect((await nightshift(['jobs', '--json'], { DATA_DIR: to })).stdout).toBe(jobs);
    const [request] = (await nightshift(['approve', '--json'], { DATA_DIR: to })).stdout.split('\n');
    const { id, jobId } = JSON.parse(request ?? '') as { id: string; jobId: string }; // as `approve --json` has it
    expect(await nightshift(['approve', id, '--yes'], { DATA_DIR: to })).toMatchObject({ code: 0 });
    expect(await nightshift(['attach', jobId], { DATA_DIR: to })).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('391') },
    });
    await after.stop();
  });

  it('creates a complete, restorable backup with a login without superuser rights', async () => {
    const login = `backup_${process.pid}`;
    const [source, target] = [`backup_source_${process.pid}`, `backup_target_${process.pid}`];
    names.push(source, target);
    const admin = await createEmptyDatabase(source);
    await createEmptyDatabase(target);
    await onServer(admin.owner, [
      `CREATE ROLE ${login} LOGIN CREATEROLE PASSWORD 'p'`,
      `DO $$ BEGIN CREATE ROLE nightshift_owner; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
      `GRANT nightshift_owner TO ${login} WITH ADMIN OPTION`,
      `ALTER DATABASE ${source} OWNER TO ${login}`,
      `ALTER DATABASE ${target} OWNER TO ${login}`,
    ]);
    const urlOf = (name: string) => {
      const url = new URL(admin.owner);
      [url.username, url.password, url.pathname] = [login, 'p', `/${name}`];
      return url.toString();
    };
    await migrate({ ...admin, owner: urlOf(source) });
    const workspace = `INSERT INTO workspace (id, name) VALUES ('01a20000-0000-7000-8000-000000000001', 'Kept')`;
    await onServer(urlOf(source), [workspace]);
    const file = place('login.dump');
    const env = (name: string) => ({ DATABASE_URL: urlOf(name), NIGHTSHIFT_SECRET: TEST_SECRET });
    expect(await nightshift(['backup', file], env(source))).toMatchObject({ code: 0, stderr: '' });

    await onServer(urlOf(source), [`CREATE TABLE hidden (id int)`, `ALTER TABLE hidden ENABLE ROW LEVEL SECURITY`]);
    expect(await nightshift(['backup', place('hidden.dump'), '--json'], env(source))).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('every row of hidden') },
    });

    expect(await nightshift(['restore', file], env(target))).toMatchObject({ code: 0, stderr: '' });
    const [kept] = await onServer(urlOf(target), ['SELECT name FROM workspace']);
    expect(kept?.rows).toEqual([{ name: 'Kept' }]);
    const [owners] = await onServer(urlOf(target), [
      `SELECT DISTINCT pg_get_userbyid(relowner) AS owner FROM pg_class 
        WHERE relnamespace = 'public'::regnamespace AND relname IN ('job', 'tool_call')`,
    ]);
    expect(owners?.rows).toEqual([{ owner: 'nightshift_owner' }]);
    await dropTestDatabase(source);
    await dropTestDatabase(target);
    await onServer(admin.owner.replace(`/${source}`, '/postgres'), [`DROP OWNED BY ${login}`, `DROP ROLE ${login}`]);
  });

  it('fails for an invalid file before anything is deleted', async () => {
    const file = place('text.dump');
    writeFileSync(file, 'not a dump');
    const ended = await nightshift(['restore', file, '--data-dir', place('to'), '--replace', '--json']);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('not_a_backup') });
    expect(await nightshift(['backup', place('still.dump'), '--data-dir', place('to')])).toMatchObject({ code: 0 });
  });
});

/** Runs statements one after the other and gives their results. */
async function onServer(url: string, statements: readonly string[]): Promise<pg.QueryResult[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const results: pg.QueryResult[] = [];
    for (const statement of statements) results.push(await client.query(statement));
    return results;
  } finally {
    await client.end();
  }
}
