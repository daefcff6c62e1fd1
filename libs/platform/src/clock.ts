/** A running timer of a `Clock`. A second `cancel`, or one after the timer fired, does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * Time as a port: the system clock in production, a manual one in tests. `now()` is wall-clock time in ms since the epoch, for display only;
 * code that must not see jumps uses `monotonic()` (ms).
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /** Runs `run` once after `delayMs`; a time that has passed counts as 0. The timer never keeps the process alive. */
  after(delayMs: number, run: () => void): Timer;
}

/** The longest delay that a timer of the runtime supports. A longer one would fire at once. */
const longestDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, run) => {
    let handle: NodeJS.Timeout;
    const wait = (leftMs: number): void => {
      const stepMs = Math.min(Math.max(leftMs, 0), longestDelayMs);
      handle = setTimeout(() => {
        if (leftMs > stepMs) wait(leftMs - stepMs);
        else run();
      }, stepMs);
      handle.unref();
    };
    wait(delayMs);
    return {
      cancel: () => {
        clearTimeout(handle);
      },
    };
  },
};

/** Resolves after `delayMs`; rejects with the signal's reason as soon as it aborts. Leaves no timer. */
export async function waitUnlessAborted(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = clock.after(delayMs, () => {
    resolve(undefined);
  });
  const onAbort = () => {
    timer.cancel();
    resolve(undefined);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  await promise;
  signal.removeEventListener('abort', onAbort);
  signal.throwIfAborted();
}

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that only `advance` moves. Due timers run in the order of their instants, then of their creation. */
export class ManualClock implements Clock {
  private readonly entries = new Set<Entry>();
  private order = 0;

  constructor(private instant = 1_700_000_000_000) {}

  now(): number {
    return this.instant;
  }

  monotonic(): number {
    return this.instant;
  }

  after(delayMs: number, run: () => void): Timer {
    const entry = { at: this.instant + Math.max(0, delayMs), order: this.order++, run };
    this.entries.add(entry);
    return {
      cancel: () => {
        this.entries.delete(entry);
      },
    };
  }

  /** Moves the time by `ms` and runs the timers that become due. */
  advance(ms: number): void {
    const end = this.instant + ms;
    for (let next = this.nextUntil(end); next !== undefined; next = this.nextUntil(end)) {
      this.entries.delete(next);
      this.instant = next.at;
      next.run();
    }
    this.instant = end;
  }

  /** The number of pending timers: zero if nothing leaks. */
  get pending(): number {
    return this.entries.size;
  }

  private nextUntil(end: number): Entry | undefined {
    return [...this.entries].filter((e) => e.at <= end).sort((a, b) => a.at - b.at || a.order - b.order)[0];
  }
}
