import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const READY_WITHIN_MS = 120_000;

/** How to start the process. */
export interface ProcessOptions {
  /** The folder of the installed package `nightshift`. */
  readonly server: string;
  readonly dataDir: string;
  readonly workingDirectory: string;
  readonly env: Readonly<Record<string, string>>;
}

/** One line of the log of a server. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A running server. */
export interface ServerProcess {
  readonly url: string;
  readonly logs: () => readonly LogLine[];
  /** Resolves when the process has ended. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Finds the installed package `nightshift`, from a folder upwards. */
export function findServer(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', 'nightshift');
    if (existsSync(join(found, 'package.json'))) return found;
    if (dirname(folder) === folder)
      throw new Error('The package "nightshift" is not installed. Install it: npm install --save-dev nightshift');
  }
}

/** Starts API, worker and Postgres in one process. Rejects with its output if it ends before it is ready. */
export async function startServer({ server, dataDir, workingDirectory, env }: ProcessOptions): Promise<ServerProcess> {
  const main = join(server, 'dist', 'apps', 'cli', 'main.js');
  const child = spawn(process.execPath, [main, 'serve', '--no-sample', '--port', '0', '--data-dir', dataDir], {
    cwd: workingDirectory,
    env: { ...surroundings(), LOG_LEVEL: 'info', READ_ENV_FILE: 'false', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { text: '', log: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.text += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.log += text));
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => {
      resolve();
    });
  });
  const logs = () => parseLines(output.log);
  const url = await untilReady(child, { logs, ended, output: () => output.text + output.log });
  return {
    ...{ url, logs },
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}

/** The variables that a process needs to start, and no others of the environment. */
function surroundings(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'SystemRoot', 'LANG'];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name]; // eslint-disable-line no-restricted-properties -- this package has no settings of its own
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

interface Watched {
  readonly logs: () => readonly LogLine[];
  readonly ended: Promise<void>;
  readonly output: () => string;
}

async function untilReady(child: ChildProcess, { logs, ended, output }: Watched): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const look = () => {
    const url = logs().find(({ msg }) => msg === 'ready')?.['url'];
    if (typeof url === 'string') resolve(url);
  };
  child.stderr?.on('data', look);
  child.once('error', reject);
  void ended.then(() => {
    reject(new Error(`The server ended before it was ready:\n${output()}`));
  });
  const timer = setTimeout(() => {
    reject(new Error(`The server was not ready within ${READY_WITHIN_MS} ms:\n${output()}`));
    child.kill('SIGKILL');
  }, READY_WITHIN_MS);
  return promise.finally(() => {
    clearTimeout(timer);
    child.stderr?.off('data', look);
  });
}

function parseLines(text: string): readonly LogLine[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      return [JSON.parse(line) as LogLine]; // a line that starts with a brace and parses is an object
    } catch {
      return [];
    }
  });
}

/** The key of the demo workspace. */
export function readKey(dataDir: string): string {
  return readFileSync(join(dataDir, 'demo-api-key'), 'utf8').trim();
}
