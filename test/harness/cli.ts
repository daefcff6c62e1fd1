import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

import { eventually } from './eventually.js';
import type { Ending } from './processes.js';

const root = process.cwd();
const bin = join(root, 'node_modules', '.bin');
const main = join(root, 'dist', 'apps', 'cli', 'main.js');

/** How the command line is run. Nothing of the surrounding environment reaches it but PATH, HOME and LANG. */
export interface CliInit {
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input; without, it is at its end. */
  readonly input?: string;
  readonly cwd?: string;
}

export interface CliRun extends Ending {
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs. */
export interface CliProcess {
  readonly exited: Promise<CliRun>;
  stdout(): string;
  stderr(): string;
  /** Resolves once the output of one of its streams contains this. */
  waitForOutput(text: string | RegExp): Promise<void>;
  type(keys: string): void;
  kill(signal: NodeJS.Signals): void;
}

/** `nightshift <words>` to its end. */
export async function runCli(words: readonly string[], init: CliInit = {}): Promise<CliRun> {
  return startCli(words, init).exited;
}

/** `nightshift <words>` with pipes for its streams. */
export function startCli(words: readonly string[], { env = {}, input, cwd = root }: CliInit = {}): CliProcess {
  const child = spawn(join(bin, 'node'), [main, ...words], { cwd, env: { ...surroundings(), ...env } });
  child.stdin.end(input ?? '');
  return watch(child);
}

/** The same on a terminal of 100 columns, by `script` of util-linux: both streams are combined, and input is echoed. */
export function startInTerminal(words: readonly string[], { env = {}, cwd = root }: CliInit = {}): CliProcess {
  const command = [join(bin, 'node'), main, ...words].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols 100 rows 40; ${command}`, '/dev/null'], {
    cwd,
    env: { ...surroundings(), TERM: 'xterm-256color', ...env },
  });
  return watch(child);
}

function surroundings(): NodeJS.ProcessEnv {
  const { PATH = '', HOME, LANG = 'C.UTF-8' } = process.env;
  return { PATH: `${bin}:${PATH}`, HOME, LANG, READ_ENV_FILE: 'false' };
}

function watch(child: ChildProcess): CliProcess {
  const text = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (chunk: string) => (text[stream] += chunk));
  }
  const exited = new Promise<CliRun>((resolve) => {
    child.once('close', (code, signal) => {
      resolve({ code, signal, ...text });
    });
  });
  return {
    exited,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    waitForOutput: async (wanted) => {
      await eventually(`its output contains ${String(wanted)}`, () => {
        const output = text.stdout + text.stderr;
        return (typeof wanted === 'string' ? output.includes(wanted) : wanted.test(output)) ? true : undefined;
      });
    },
    type: (keys) => child.stdin?.write(keys),
    kill: (signal) => child.kill(signal),
  };
}
