import type { Clock } from '#platform';

/** How many failures a name may have per window, and how many names are remembered. */
export interface FailureLimits {
  readonly failures: number;
  readonly windowMs: number;
  readonly names: number;
}

interface Window {
  readonly endsAt: number;
  failures: number;
}

/**
 * Counts failed attempts by name, in this process and in bounded memory: with too many names the oldest window is
 * forgotten. It never delays a right key, so guessing cannot lock an owner out.
 */
export class FailureLimiter {
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly clock: Clock,
    private readonly limits: FailureLimits = { failures: 20, windowMs: 60_000, names: 10_000 },
  ) {}

  /** Counts one failure. Returns the seconds to wait once the limit is passed, else null. */
  fail(name: string): number | null {
    const now = this.clock.monotonic();
    const window = this.windowOf(name, now);
    window.failures += 1;
    return window.failures > this.limits.failures ? Math.max(1, Math.ceil((window.endsAt - now) / 1_000)) : null;
  }

  /** The most failures of a name within a window. */
  get most(): number {
    return this.limits.failures;
  }

  /** How many names are remembered. */
  get size(): number {
    return this.windows.size;
  }

  private windowOf(name: string, now: number): Window {
    const known = this.windows.get(name);
    if (known !== undefined && now < known.endsAt) return known;
    this.windows.delete(name);
    for (const [oldest, { endsAt }] of this.windows) {
      // A map keeps the order of insertion, which is that of the windows' ends.
      if (now < endsAt && this.windows.size < this.limits.names) break;
      this.windows.delete(oldest);
    }
    const window = { endsAt: now + this.limits.windowMs, failures: 0 };
    this.windows.set(name, window);
    return window;
  }
}
