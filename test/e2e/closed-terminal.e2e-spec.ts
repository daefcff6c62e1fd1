import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { runToEnd, serveEntry, startProcess } from '../harness/processes.js';

const root = process.cwd();
const node = join(root, 'node_modules', '.bin', 'node');
/** `script` of util-linux runs a command in a pseudo-terminal, and closes it when it is killed. */
const scriptPath = process.platform === 'linux' && existsSync('/usr/bin/script') ? '/usr/bin/script' : undefined;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The number in the first line of a file. Throws if there is none: the number 0 would signal the process group of the test. */
function pidIn(path: string): number {
  const pid = Number(readFileSync(path, 'utf8').split('\n')[0]);
  if (!(pid > 0)) throw new Error(`${path} has no process id`);
  return pid;
}

describe('SIGHUP', () => {
  let folder: string;
  const pids: number[] = [];
  let terminal: ChildProcess | undefined;

  beforeAll(async () => {
    await runToEnd(['--help'], {}, serveEntry); // compiles
  });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-e2e-'));
    chmodSync(folder, 0o755); // Postgres of root runs as another user
  });

  afterEach(() => {
    terminal?.kill('SIGKILL');
    for (const pid of pids.splice(0)) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  (scriptPath === undefined ? it.skip : it)('stops the server in order when its terminal closes', async () => {
    const temporary = mkdtempSync(join(folder, 'tmp-'));
    chmodSync(temporary, 0o755);
    const log = join(folder, 'log'); // standard output stays the terminal
    const serve = `${node} ${join(root, 'dist', serveEntry)} serve --ephemeral --port 0 --no-sample`;
    const command = `echo $$ > ${join(folder, 'pid')}; exec ${serve} 2> ${log}`;
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, READ_ENV_FILE: 'false', SHELL: '/bin/sh', TMPDIR: temporary };
    terminal = spawn(scriptPath ?? '', ['-qfc', command, join(folder, 'typescript')], { env, stdio: 'ignore' });
    const shown = join(folder, 'typescript');
    await eventually(
      'the server is ready',
      () => (existsSync(shown) && readFileSync(shown, 'utf8').includes('http://127.0.0.1') ? true : undefined),
      120_000,
    );
    const [dataDir = ''] = readdirSync(temporary).filter((name) => name.startsWith('nightshift-ephemeral-'));
    const postgres = readdirSync(join(temporary, dataDir), { recursive: true, encoding: 'utf8' }).find((path) =>
      path.endsWith('postmaster.pid'),
    );
    pids.push(pidIn(join(folder, 'pid')), pidIn(join(temporary, dataDir, postgres ?? '')));
    expect(pids.map(isRunning)).toEqual([true, true]);

    terminal.kill('SIGKILL');
    await eventually('the server has ended', () => (pids.some(isRunning) ? undefined : true), 30_000);
    expect(readFileSync(log, 'utf8')).not.toContain('unexpected error');
    expect(readdirSync(temporary).filter((name) => name.startsWith('nightshift-ephemeral-'))).toEqual([]);
  });

  it('does not stop a server without a terminal and without trigger files', async () => {
    const flags = ['--data-dir', join(folder, 'data')];
    const server = await startProcess({ role: 'all', flags, entry: serveEntry });
    pids.push(server.pid);
    server.kill('SIGHUP');
    // The signal arrives before the first request, so a server that stops refuses one of them.
    for (const path of ['healthz', 'readyz']) expect((await fetch(`${server.url ?? ''}/${path}`)).status).toBe(200);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });
});
