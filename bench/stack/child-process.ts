import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A Node process whose first line of output is its address, as JSON. */
export interface BenchChild<Hello> {
  readonly pid: number;
  readonly hello: Hello;
  /** Sends SIGTERM and waits for the end; SIGKILL after five seconds. */
  close(): Promise<void>;
}

/** `script` is compiled code. Rejects when the process ends before its first line. */
export async function startChild<Hello>(
  script: URL,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<BenchChild<Hello>> {
  const child = spawn(process.execPath, ['--enable-source-maps', ...execArguments(env), script.pathname, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const hello = await firstLine(child, script);
  return { pid: child.pid ?? 0, hello: JSON.parse(hello) as Hello, close: () => stop(child) }; // our own script wrote it
}

/** BENCH_PROFILE names a folder for CPU profiles of all processes but the model. */
function execArguments(env: Readonly<Record<string, string>>): string[] {
  const folder = process.env['BENCH_PROFILE'];
  return folder === undefined || env['BENCH_ROLE'] === undefined
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${env['BENCH_ROLE']}.cpuprofile`];
}

async function firstLine(child: ChildProcess, script: URL): Promise<string> {
  if (child.stdout === null) throw new Error('a child without output');
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${script.pathname} ended with ${String(code)} before it was ready`);
  });
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string]; // readline emits one text
  ended.catch(() => undefined);
  child.stdout.resume();
  return line;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
  await exited;
  clearTimeout(late);
}
