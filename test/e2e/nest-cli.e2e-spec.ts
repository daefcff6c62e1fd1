import { execFile, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';

interface NestCli {
  readonly projects: Readonly<Record<string, { readonly sourceRoot: string; readonly entryFile: string }>>;
  readonly sourceRoot: string;
  readonly entryFile: string;
}

const root = process.cwd();
const node = join(root, 'node_modules', '.bin', 'node');
const nest = join(root, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
const nestCli = JSON.parse(readFileSync('nest-cli.json', 'utf8')) as NestCli; // by its schema
const entries = [nestCli, ...Object.values(nestCli.projects)].map(({ sourceRoot, entryFile }) =>
  join(sourceRoot, entryFile),
);

/** A checkout that shares its sources and packages with this one, and has a compiled tree of its own. */
function newCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nightshift-nest-'));
  const isOwn = (name: string) => ['dist', '.git', '.nightshift', 'tsconfig.json'].includes(name);
  for (const name of readdirSync(root)) if (!isOwn(name)) symlinkSync(join(root, name), join(folder, name));
  copyFileSync(join(root, 'tsconfig.json'), join(folder, 'tsconfig.json'));
  return folder;
}

describe('nest build', () => {
  let database: TestDatabase;
  let checkout: string;
  let environment: NodeJS.ProcessEnv;

  /** Runs `nest start` until the process answers, asks it for `path`, and stops it. */
  async function statusOf(project: string, port: string, path: string) {
    const child = spawn(node, [nest, 'start', project, '--no-shell'], {
      cwd: checkout,
      env: { ...environment, PORT: port, WORKER_PORT: port },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += String(chunk)));
    const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
    const status = await eventually(`${project} answers`, async () => {
      if (child.exitCode !== null) throw new Error(`nest start ${project} ended:\n${output}`);
      const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
      return response?.status;
    });
    child.kill('SIGTERM');
    return { status, code: await exited };
  }

  beforeAll(async () => {
    database = await createTestDatabase();
    checkout = newCheckout();
    environment = {
      ...{ PATH: process.env['PATH'], HOME: process.env['HOME'] },
      ...{ NODE_ENV: 'test', DATABASE_URL: database.urls.owner, NIGHTSHIFT_SECRET: TEST_SECRET },
      DATA_DIR: join(checkout, 'data'),
    };
    await promisify(execFile)(node, [nest, 'build'], { cwd: checkout, env: environment });
  });

  afterAll(async () => {
    rmSync(checkout, { recursive: true, force: true });
    await database.close();
  });

  it('compiles the entry of every project in nest-cli.json', () => {
    expect(entries).toEqual([
      join('apps', 'main'),
      join('apps', 'api', 'src', 'main'),
      join('apps', 'worker', 'src', 'main'),
    ]);
    for (const entry of entries)
      expect(readFileSync(join(checkout, 'dist', `${entry}.js`), 'utf8')).toContain('runProcess');
  });

  it('keeps #lib imports and ES modules', () => {
    expect(readFileSync(join(checkout, 'dist', 'apps', 'worker', 'src', 'start-worker-role.js'), 'utf8')).toMatch(
      /from '#platform'/,
    );
  });

  it.each([
    ['api', '/healthz'],
    ['worker', '/readyz'],
  ])('lets nest start run %s until SIGTERM', async (project, path) => {
    const run = await statusOf(project, await freePort(), path);
    expect(run).toMatchObject({ status: 200, code: 0 });
  });

  it('refuses a role that the entry does not have', async () => {
    const entry = join(checkout, 'dist', 'apps', 'worker', 'src', 'main.js');
    const refused = promisify(execFile)(node, [entry, '--role', 'api'], { cwd: checkout, env: environment });
    await expect(refused).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('This entry point starts role worker, tools. dist/apps/main.js starts api.'),
    });
  });
});
