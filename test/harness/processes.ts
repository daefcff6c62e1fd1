import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { toolsKeyOf } from '#platform';

/** The repository's root. Jest runs there. */
const root = process.cwd();
const main = join('apps', 'main.js');
/** What `npm start` runs: the command `nightshift serve`. */
export const serveEntry = join('apps', 'cli', 'main.js');
/** npm's pinned Node: that of the system may be older. */
const node = join(root, 'node_modules', '.bin', 'node');

const READY_WITHIN_MS = 240_000;
const END_WITHIN_MS = 120_000;
const RUN_WITHIN_MS = 240_000;

/** What to start. Nothing of the surrounding environment reaches the process but PATH and HOME. */
export interface ProcessInit {
  readonly role: 'api' | 'worker' | 'tools' | 'all';
  /** The owner's url (`TestDatabase.urls.owner`); role `tools` gets it without the login, and its key instead of the secret. Without it role `all` brings its own Postgres, under `--data-dir`. */
  readonly databaseUrl?: string;
  /** Must be the one the database was set up with (`TEST_SECRET`), because roles are shared by all databases of a server. */
  readonly secret?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the sample job runs first; without, only where `--once` asks for it. */
  readonly withSample?: boolean;
  /** More flags. */
  readonly flags?: readonly string[];
  /** Another entry point, below dist; `apps/main.js` without. */
  readonly entry?: string;
  /** The working directory; that of the repository without. */
  readonly cwd?: string;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One line of the process's log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A real process of Nightshift, built from this tree. */
export interface NightshiftProcess {
  readonly pid: number;
  /** Base of the api; null for a worker. */
  readonly url: string | null;
  /** Base of /healthz, /readyz, /metrics; null for a worker without WORKER_PORT. */
  readonly healthUrl: string | null;
  /** Resolves when the process has ended, also by a signal. */
  readonly exited: Promise<Ending>;
  /** The log lines of the process so far. */
  logs(): LogLine[];
  /** Everything it has printed, both streams. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  /** Closes the pipes that it prints to, like a `head` that has ended. */
  closeOutput(): void;
  /** SIGTERM, and SIGKILL when that takes over 30 s; may be called when it is gone. */
  stop(): Promise<Ending>;
}

/** A finished run. */
export interface FinishedRun extends Ending {
  readonly stdout: string;
  readonly stderr: string;
}

let built: Promise<unknown> | undefined;

/** Compiles when the sources have changed. NIGHTSHIFT_TEST_BUILD=as-is uses the existing build. */
function ensureBuilt(): Promise<unknown> {
  if (process.env['NIGHTSHIFT_TEST_BUILD'] === 'as-is') return Promise.resolve();
  built ??= promisify(execFile)(node, [join(root, 'scripts', 'bootstrap.mjs')], { cwd: root });
  return built;
}

/** Starts a process and resolves when it is ready. Rejects with everything it printed when it ends before that. */
export async function startProcess(init: ProcessInit): Promise<NightshiftProcess> {
  await ensureBuilt();
  const { role, flags = [], withSample = flags.includes('--once') } = init;
  const sample = withSample ? [] : ['--no-sample'];
  const child = spawnMain(['--role', role, '--port', '0', ...sample, ...flags], environmentOf(init), init);
  const watched = watch(child);
  const ready = await untilReady(watched);
  const stop = async () => {
    child.kill('SIGTERM');
    const timeout = setTimeout(() => child.kill('SIGKILL'), END_WITHIN_MS);
    const ending = await watched.exited;
    clearTimeout(timeout);
    return ending;
  };
  return {
    pid: child.pid ?? 0,
    url: textOf(ready['url']),
    healthUrl: textOf(ready['healthUrl']),
    exited: watched.exited,
    logs: () => parseLogs(watched.stderr()),
    output: () => watched.stdout() + watched.stderr(),
    kill: (signal) => child.kill(signal),
    closeOutput: () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
    stop,
  };
}

/** Runs the command line to its end; after two minutes that end is a SIGKILL. */
export async function runToEnd(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  entry = main,
): Promise<FinishedRun> {
  await ensureBuilt();
  const child = spawnMain(words, { ...surroundings(), ...env }, { entry });
  const timeout = setTimeout(() => child.kill('SIGKILL'), RUN_WITHIN_MS);
  const watched = watch(child);
  const ending = await watched.exited;
  clearTimeout(timeout);
  return { ...ending, stdout: watched.stdout(), stderr: watched.stderr() };
}

function spawnMain(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  { entry = main, cwd = root }: Pick<ProcessInit, 'entry' | 'cwd'>,
): ChildProcess {
  const command = entry === serveEntry ? ['serve'] : [];
  return spawn(node, [join(root, 'dist', entry), ...command, ...words], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function environmentOf({ role, databaseUrl, secret, env }: ProcessInit): NodeJS.ProcessEnv {
  const key = role === 'tools' ? 'NIGHTSHIFT_TOOLS_KEY' : 'NIGHTSHIFT_SECRET';
  return {
    ...surroundings(),
    NODE_ENV: 'test',
    LOG_LEVEL: 'info',
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: role === 'tools' ? withoutLogin(databaseUrl) : databaseUrl }),
    ...(secret === undefined ? {} : { [key]: role === 'tools' ? toolsKeyOf(secret) : secret }),
    ...env,
  };
}

/** A tool process has no other login than its own. */
export function withoutLogin(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.username = '';
  url.password = '';
  return url.toString();
}

function surroundings(): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  // `NODE_COMPILE_CACHE`: the command line sets it itself; other entry points use it only in tests.
  return { PATH, HOME, READ_ENV_FILE: 'false', NODE_COMPILE_CACHE: join(root, 'dist', '.cache') };
}

interface Watched {
  readonly exited: Promise<Ending>;
  /** Runs after each piece of output and at the end. */
  onChange: () => void;
  stdout(): string;
  stderr(): string;
}

function watch(child: ChildProcess): Watched {
  const text = { stdout: '', stderr: '' };
  const exited = new Promise<Ending>((resolve) => {
    // `close`, not `exit`: by then all output has been read.
    child.once('close', (code, signal) => {
      resolve({ code, signal });
    });
    child.once('error', () => {
      resolve({ code: null, signal: null });
    });
  });
  const watched: Watched = {
    exited,
    onChange: () => undefined,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
  };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (chunk: string) => {
      text[stream] += chunk;
      watched.onChange();
    });
  }
  return watched;
}

function untilReady(watched: Watched): Promise<LogLine> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      reject(new Error(`The process ${why}:\n${watched.stdout()}${watched.stderr()}`));
    };
    const timeout = setTimeout(fail, READY_WITHIN_MS, 'was not ready in four minutes');
    const look = () => {
      const line = parseLogs(watched.stderr()).find(({ msg }) => msg === 'ready');
      if (line === undefined) return;
      clearTimeout(timeout);
      watched.onChange = () => undefined;
      resolve(line);
    };
    watched.onChange = look;
    look();
    void watched.exited.then(({ code, signal }) => {
      clearTimeout(timeout);
      fail(`ended before it was ready (${signal ?? code ?? 'not started'})`);
    });
  });
}

/** The lines that are JSON; people's text on the same stream is left out. */
function parseLogs(text: string): LogLine[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      return [JSON.parse(line) as LogLine]; // a line that begins with a brace and parses is an object
    } catch {
      return [];
    }
  });
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
