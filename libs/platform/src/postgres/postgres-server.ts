import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chown, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

import { embeddedUnavailable } from './postgres.errors.js';
import type { ServerUser } from './postgres-binaries.js';

const run = promisify(execFile);
const LOG_TAIL = 8_192;
const READY_WITHIN_MS = 60_000;
const FAST_STOP_MS = 10_000;
const LEFT_BEHIND_MS = 20_000;
const ENVIRONMENT = { LC_ALL: 'C.UTF-8', TZ: 'UTC' }; // without variables of this process: the server must not see keys of model providers

/** A cluster on disk, and how to run it. */
export interface PostgresCluster {
  /** bin, lib and share. */
  readonly home: string;
  readonly user: ServerUser;
  /** The data directory. `user` must be able to reach its parents. */
  readonly dataDir: string;
}

/** A running server, a child of this process. */
export interface PostgresServer {
  readonly port: number;
  readonly pid: number;
  /** Resolves after the exit of the server, also after `stop`, with the end of its log. */
  readonly exited: Promise<string>;
  /** Fast shutdown (SIGINT), and an immediate one after 10 s. Resolves after the exit. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Creates the cluster, completely or not at all: a killed start leaves nothing that looks complete. With `password`, every connection needs
 * it (SCRAM-SHA-256); without it, loopback is trusted, which is for tests only.
 */
export async function initializeCluster(cluster: PostgresCluster, password?: string): Promise<void> {
  const fresh = `${cluster.dataDir}.initializing`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  await giveTo(cluster.user, fresh);
  const login = await loginArguments(cluster.user, password);
  try {
    const options = ['-D', fresh, '-U', 'postgres', '--encoding=UTF8', '--locale=C.UTF-8', ...login.arguments];
    await run(join(cluster.home, 'bin', 'initdb'), options, { ...cluster.user, cwd: '/', env: ENVIRONMENT });
  } catch (cause) {
    throw embeddedUnavailable('its data directory could not be made', cause);
  } finally {
    await login.forget();
  }
  await rename(fresh, cluster.dataDir);
}

async function loginArguments(user: ServerUser, password: string | undefined) {
  if (password === undefined) return { arguments: ['-A', 'trust', '--no-sync'], forget: () => Promise.resolve() };
  const folder = await mkdtemp(join(tmpdir(), 'nightshift-'));
  const file = join(folder, 'password');
  await writeFile(file, password, { mode: 0o600 });
  await giveTo(user, file);
  await giveTo(user, folder);
  return {
    arguments: ['-A', 'scram-sha-256', `--pwfile=${file}`],
    forget: () => rm(folder, { recursive: true, force: true }),
  };
}

async function giveTo(user: ServerUser, path: string): Promise<void> {
  if (user.uid !== undefined && user.gid !== undefined) await chown(path, user.uid, user.gid);
}

/**
 * Runs the cluster on a free port of 127.0.0.1 and resolves when it accepts connections. The server has its own session, so that Ctrl-C in a
 * terminal first reaches this process and the server stops last. `settings` are `name=value` pairs of postgresql.conf.
 */
export async function startServer(cluster: PostgresCluster, settings: readonly string[]): Promise<PostgresServer> {
  const giveUpAt = performance.now() + LEFT_BEHIND_MS;
  let portsLeft = 3;
  for (;;) {
    try {
      return await startOnPort(cluster, settings, await freePort());
    } catch (error) {
      const why = error instanceof Error ? error.message : '';
      // The child processes of a crashed server end shortly after it.
      if (why.includes('pre-existing shared memory block') && performance.now() < giveUpAt) await pause(100);
      else if (why.includes('Address already in use') && portsLeft > 1) portsLeft -= 1;
      else throw error;
    }
  }
}

async function startOnPort(
  cluster: PostgresCluster,
  settings: readonly string[],
  port: number,
): Promise<PostgresServer> {
  const fixed = ['listen_addresses=127.0.0.1', 'unix_socket_directories='];
  const child = spawn(
    join(cluster.home, 'bin', 'postgres'),
    ['-D', cluster.dataDir, '-p', String(port), ...[...fixed, ...settings].flatMap((setting) => ['-c', setting])],
    { ...cluster.user, cwd: '/', env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  );
  const log = new LogTail(child);
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => {
      resolve(error.message);
    });
    child.once('exit', () => {
      resolve(log.text);
    });
  });
  await untilReady(child, log, exited);
  return { port, pid: child.pid ?? 0, exited, stop: () => stopServer(child, exited) };
}

async function untilReady(child: ChildProcess, log: LogTail, exited: Promise<string>): Promise<void> {
  const late = deadline(READY_WITHIN_MS);
  const outcome = await Promise.race([log.contains('ready to accept connections'), exited, late.reached]);
  late.cancel();
  if (outcome === READY) return;
  child.kill('SIGQUIT');
  throw embeddedUnavailable(outcome === undefined ? 'it did not become ready in a minute' : lastLines(outcome));
}

async function stopServer(child: ChildProcess, exited: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGINT');
  const late = deadline(FAST_STOP_MS);
  await Promise.race([exited, late.reached.then(() => child.kill('SIGQUIT'))]);
  late.cancel();
  await exited;
}

const READY = Symbol('ready');

/** Stores the end of the server's output. It keeps reading, so that the pipe never fills. */
class LogTail {
  text = '';
  private wanted: { readonly phrase: string; readonly found: () => void } | undefined;

  constructor(child: ChildProcess) {
    child.stderr?.on('data', (chunk: Buffer) => {
      this.text = (this.text + chunk.toString()).slice(-LOG_TAIL);
      if (this.wanted !== undefined && this.text.includes(this.wanted.phrase)) this.wanted.found();
    });
  }

  contains(phrase: string): Promise<typeof READY> {
    return new Promise((resolve) => {
      this.wanted = {
        phrase,
        found: () => {
          resolve(READY);
        },
      };
    });
  }
}

function lastLines(log: string): string {
  return log.trim().split('\n').slice(-4).join(' / ');
}

function deadline(ms: number) {
  let handle: NodeJS.Timeout | undefined;
  const reached = new Promise<undefined>((resolve) => {
    handle = setTimeout(() => {
      resolve(undefined);
    }, ms);
  });
  return {
    reached,
    cancel: () => {
      clearTimeout(handle);
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  });
}
