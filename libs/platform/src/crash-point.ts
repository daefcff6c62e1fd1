import type { Config } from './config/config.js';
import { ConfigError } from './config/config.js';

type Fate = 'kill' | 'stop' | 'throw';

interface ArmedPoint {
  readonly name: string;
  readonly fate: Fate;
  left: number;
}

/** The error of a `throw` crash point. No code of the server expects it. */
export class CrashPointReached extends Error {
  constructor(name: string) {
    super(`The crash point ${name} was reached.`);
    this.name = 'CrashPointReached';
  }
}

let armed: ArmedPoint | undefined;

/**
 * Arms the point that CRASH_POINT names, once per process, before any work. Throws `ConfigError` unless NODE_ENV is `test`, because the
 * setting kills servers.
 */
export function armCrashPoint(config: Config): void {
  const { CRASH_POINT: setting, NODE_ENV: environment } = config.values;
  armed = undefined;
  if (setting === undefined) return;
  if (environment !== 'test') throw new ConfigError(['CRASH_POINT is allowed with NODE_ENV=test only.']);
  const [name = '', fate, count = '1'] = setting.split(':');
  if (fate === 'kill' || fate === 'stop' || fate === 'throw') armed = { name, fate, left: Number(count) };
}

/**
 * A named place at which tests make a process die (`kill`: SIGKILL), freeze (`stop`: SIGSTOP, until a test sends SIGCONT) or fail (`throw`).
 * Does nothing unless armed; takes effect once, when the process reaches it for the N-th time.
 */
export function crashpoint(name: string): void {
  if (armed?.name !== name) return;
  armed.left -= 1;
  if (armed.left > 0) return;
  const { fate } = armed;
  armed = undefined;
  if (fate === 'throw') throw new CrashPointReached(name);
  process.kill(process.pid, fate === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  // The signal may arrive later, on another thread. Until then this thread must do nothing.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fate === 'kill' ? 10_000 : 100);
}
