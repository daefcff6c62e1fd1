import { execFile, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createNightshift } from '@nightshift/client';
import { MeDocument, RevokeApiKeyDocument } from '@nightshift/client/operations';

import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import {
  type Ending,
  type NightshiftProcess,
  runToEnd as runEntry,
  serveEntry,
  startProcess,
} from '../harness/processes.js';

/** The whole describes what `npm start` does, so all of it goes through the command line. */
const runToEnd = (words: readonly string[], env?: Readonly<Record<string, string>>) => runEntry(words, env, serveEntry);

const folders: string[] = [];
const running: NightshiftProcess[] = [];
/** Copied by `usedDataDir`. */
let used: string;

function newDataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nightshift-e2e-'));
  folders.push(folder);
  return join(folder, 'data');
}

/** A data directory of which a server has been stopped before: its cluster, workspace and key are there, as at most starts. */
function usedDataDir(): string {
  const dataDir = newDataDir();
  execFileSync('cp', ['-a', used, dataDir]); // with the owners: Postgres of root runs as another user
  return dataDir;
}

async function startAll(dataDir: string, ...flags: string[]): Promise<NightshiftProcess> {
  const started = await startProcess({ role: 'all', flags: ['--data-dir', dataDir, ...flags], entry: serveEntry });
  running.push(started);
  return started;
}

async function takenPort(): Promise<{ readonly port: string; readonly server: Server }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return { server, port: String(typeof address === 'object' && address !== null ? address.port : 0) };
}

/** The sample fails within a test when something is broken. */
const impatient = { JOB_TIMEOUT_MS: '120000' };

const lastLine = (text: string) => text.trimEnd().split('\n').at(-1) ?? '';

describe('npm start', () => {
  let interrupted: Ending & { readonly output: string };

  beforeAll(async () => {
    used = newDataDir();
    const started = await startAll(used);
    started.kill('SIGINT');
    interrupted = { ...(await started.exited), output: started.output() };
  });

  afterEach(async () => {
    for (const started of running.splice(0)) await started.stop();
  });

  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  it('runs a sample job with two tools in two rounds and stores it', async () => {
    const dataDir = newDataDir();
    const run = await runToEnd(['--once', '--port', '0', '--data-dir', dataDir], impatient);
    expect(run).toMatchObject({ code: 0, signal: null });
    const { sample } = JSON.parse(lastLine(run.stdout)) as { sample: Record<string, unknown> }; // the shape of the line
    expect(sample).toMatchObject({ status: 'completed', rounds: 2, toolCalls: 2 });
    expect(run.stdout).toContain('391');

    const key = readFileSync(join(dataDir, 'demo-api-key'), 'utf8').trim();
    expect(run.stdout).toContain(`${key.slice(0, 16)}…  the whole key is in `);
    expect(run.stdout).not.toContain(key);
    expect(run.stderr).not.toContain(key);
    expect(statSync(join(dataDir, 'demo-api-key')).mode & 0o777).toBe(0o600);

    const again = await startAll(dataDir);
    const command = /^ *terminal +(.*)$/m.exec(again.output())?.[1] ?? '';
    expect(execFileSync('sh', ['-c', command], { cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] }).toString()).toContain(
      '391',
    );
    const status = await fetch(`${again.url ?? ''}/api/jobs/${String(sample['jobId'])}/status`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await status.json()).toMatchObject({ id: sample['jobId'], status: 'complete' });
    expect(again.output()).not.toContain(key);
  });

  it('keeps serving when the reader of its output closes the pipe, and stops in order', async () => {
    const serving = await startAll(usedDataDir());
    serving.closeOutput();
    expect((await fetch(`${serving.url ?? ''}/v1/models`)).status).toBe(401); // is logged
    expect((await fetch(`${serving.url ?? ''}/readyz`)).status).toBe(200);
    expect(await serving.stop()).toEqual({ code: 0, signal: null });
  });

  it('prints the open request of its sample job, and again at the next start until a decision', async () => {
    const flags = ['--port', '0', '--data-dir', newDataDir()];
    const asking = { ...impatient, TOOL_APPROVAL_DEFAULT: 'require_approval' };
    const sampleOf = (run: { readonly stdout: string }) =>
      (JSON.parse(lastLine(run.stdout)) as { sample: Record<string, unknown> }).sample; // the shape of the line
    const first = await runToEnd(['--once', ...flags], asking);
    expect(first.code).toBe(1);
    expect(first.stderr).toContain('The sample job waits for a person');
    expect(sampleOf(first)).toMatchObject({ status: 'waiting' });

    const serving = await startProcess({ role: 'all', flags, env: asking, withSample: true });
    running.push(serving);
    const commands = await eventually('the commands to answer are printed', () => {
      const printed = [...serving.output().matchAll(/curl -s .*\n.*argumentsHash.*/g)].map(([command]) => command);
      return printed.length === 2 ? printed : undefined;
    });
    expect(serving.output()).toContain('The sample job of before');
    for (const command of commands) expect(execFileSync('bash', ['-c', command]).toString()).toContain('"approved"');
    await serving.stop();

    const later = await startProcess({ role: 'all', flags, env: asking, withSample: true });
    running.push(later);
    await later.stop();
    expect(later.output()).not.toContain('sample job');

    const last = await runToEnd(['--once', ...flags], impatient);
    expect(sampleOf(last)).toMatchObject({ status: 'completed' });
    expect(last.code).toBe(0);
  });

  it('names the process that uses the data directory, and starts once that process was killed', async () => {
    const dataDir = usedDataDir();
    const first = await startAll(dataDir);
    const second = await runToEnd(['--once', '--port', '0', '--data-dir', dataDir]);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain('already runs on');
    expect(second.stderr).toContain(String(first.pid));
    expect(second.stderr).toContain(`It serves ${first.url ?? ''}.`);

    first.kill('SIGKILL');
    await first.exited;
    const third = await startAll(dataDir);
    expect((await fetch(`${third.url ?? ''}/healthz`)).status).toBe(200);
  });

  it('deletes the data of --ephemeral at SIGTERM, and the data of a killed process at the next start', async () => {
    const TMPDIR = mkdtempSync(join(tmpdir(), 'nightshift-e2e-'));
    folders.push(TMPDIR);
    chmodSync(TMPDIR, 0o755); // Postgres of root runs as another user
    const startEphemeral = async () => {
      const env = { TMPDIR, DATA_DIR: join(TMPDIR, 'unused') };
      const started = await startProcess({ role: 'all', flags: ['--ephemeral'], env, entry: serveEntry });
      running.push(started);
      return started;
    };
    const kept = () => readdirSync(TMPDIR).filter((name) => name.startsWith('nightshift-ephemeral-'));
    const killed = await startEphemeral();
    killed.kill('SIGKILL');
    await killed.exited;
    const [abandoned] = kept();
    expect(abandoned).toBeDefined();
    const next = await startEphemeral();
    expect([kept().length, kept().includes(abandoned ?? '')]).toEqual([1, false]);
    next.kill('SIGTERM');
    expect(await next.exited).toEqual({ code: 0, signal: null });
    expect(kept()).toEqual([]);
    expect(readdirSync(TMPDIR)).not.toContain('unused');
  });

  it('exits with 0 after SIGINT', () => {
    expect(interrupted).toMatchObject({ code: 0, signal: null });
    expect(interrupted.output).not.toContain('Still open');
  });

  it('creates a new key when the stored one is missing', async () => {
    const dataDir = usedDataDir();
    const old = readFileSync(join(dataDir, 'demo-api-key'), 'utf8');
    rmSync(join(dataDir, 'demo-api-key'));
    const again = await startAll(dataDir);

    expect(again.output()).toContain('the whole key is in');
    expect(readFileSync(join(dataDir, 'demo-api-key'), 'utf8')).not.toBe(old);
  });

  it('keeps a revoked demo key revoked, and serves without a sample job', async () => {
    const dataDir = usedDataDir();
    const first = await startAll(dataDir);
    const key = readFileSync(join(dataDir, 'demo-api-key'), 'utf8');
    const client = createNightshift({ url: first.url ?? '', token: key.trim(), webSocket: null });
    const { me } = await client.query(MeDocument, {});
    await client.mutate(RevokeApiKeyDocument, { id: me.id.replace('key:', '') });
    await first.stop();
    const again = await startAll(dataDir);

    expect(again.output()).toContain('was revoked');
    expect(readFileSync(join(dataDir, 'demo-api-key'), 'utf8')).toBe(key);
    const refused = createNightshift({ url: again.url ?? '', token: key.trim(), webSocket: null });
    await expect(refused.query(MeDocument, {})).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('fails on a taken port without leaving a process behind', async () => {
    const { server, port } = await takenPort();
    const dataDir = usedDataDir();
    const refused = await runToEnd(['--once', '--port', port, '--data-dir', dataDir]);
    server.close();

    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`Port ${port} on 127.0.0.1 is in use by another process.`);
    expect(refused.stderr).toContain('--port');
    expect(refused.stderr).not.toContain('EADDRINUSE');
    await startAll(dataDir);
  });

  it.each([
    [['--prot', '1'], {}, 'Did you mean --port?'],
    [[], { LEASE_MS: 'soon' }, 'LEASE_MS must be a whole number from 200 to 604800000.'],
  ])('rejects %j with %j before it starts anything', async (words, env, message) => {
    const refused = await runToEnd(words, env);

    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(message);
    expect(refused.stdout).toBe('');
  });

  it('requires the settings that several processes share', async () => {
    expect((await runToEnd(['--role', 'worker'])).stderr).toContain('set DATABASE_URL');
    const database = { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/nowhere' };
    expect((await runToEnd(['--role', 'api'], database)).stderr).toContain('needs NIGHTSHIFT_SECRET');
  });

  it('names the unreachable Postgres without its credentials', async () => {
    const env = { DATABASE_URL: 'postgres://someone:canary@127.0.0.1:1/nowhere', NIGHTSHIFT_SECRET: TEST_SECRET };
    const refused = await runToEnd(['--role', 'api', '--port', '0'], env);

    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('The Postgres at 127.0.0.1:1/nowhere (DATABASE_URL) cannot be used');
    expect(refused.stdout + refused.stderr).not.toContain('canary');
  });
});

describe('npm start with roles api and worker', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });

  afterAll(async () => {
    for (const started of running.splice(0)) await started.stop();
    await database.close();
  });

  it('start side by side on one database and report ready', async () => {
    const port = await freePort();
    const shared = { databaseUrl: database.urls.owner, secret: TEST_SECRET };
    const [api, worker] = await Promise.all([
      startProcess({ role: 'api', ...shared }),
      startProcess({ role: 'worker', ...shared, env: { WORKER_PORT: port } }),
    ]);
    running.push(api, worker);

    for (const { healthUrl } of [api, worker]) expect((await fetch(`${healthUrl ?? ''}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${worker.healthUrl ?? ''}/metrics`)).text()).toContain('nightshift_jobs_running 0');
    expect(await Promise.all([api.stop(), worker.stop()])).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
  });
});

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

  it('builds a worker entry point that rejects `--role api`', async () => {
    const entry = join(checkout, 'dist', 'apps', 'worker', 'src', 'main.js');
    const refused = promisify(execFile)(node, [entry, '--role', 'api'], { cwd: checkout, env: environment });
    await expect(refused).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('This entry point starts role worker, tools. dist/apps/main.js starts api.'),
    });
  });
});
