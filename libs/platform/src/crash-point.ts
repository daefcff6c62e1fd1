import type { Config } from './config/config.js';
import { ConfigError } from './config/config.js';

type Fate = 'kill' | 'stop' | 'throw';

interface ArmedPoint {
  readonly name: string;
  readonly fate: Fate;
  left: number;
}

/** What a `throw` crash point throws: no code of ours expects it. */
export class CrashPointReached extends Error {
  constructor(name: string) {
    super(`The crash point ${name} was reached.`);
    this.name = 'CrashPointReached';
  }
}

let armed: ArmedPoint | undefined;

/**
 * Arms the point that CRASH_POINT names, once per process, before anything runs. Throws `ConfigError` unless NODE_ENV is
 * `test`: a setting that kills servers has no business in production.
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
 * A named instant at which tests let a process die (`kill`: SIGKILL), freeze (`stop`: SIGSTOP, until a test sends
 * SIGCONT) or fail (`throw`). Does nothing unless armed; strikes once, at the N-th passing.
 */
export function crashpoint(name: string): void {
  if (armed?.name !== name) return;
  armed.left -= 1;
  if (armed.left > 0) return;
  const { fate } = armed;
  armed = undefined;
  if (fate === 'throw') throw new CrashPointReached(name);
  process.kill(process.pid, fate === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  // The signal may arrive a moment later on another thread; until then nothing more must happen on this one.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fate === 'kill' ? 10_000 : 100);
}
