import type { Clock } from '#platform';

import { rateLimited } from '../errors/http.errors.js';

const windowMs = 60_000;
/** Principals that are remembered; the one that was quiet for longest is forgotten first. */
const maxPrincipals = 10_000;

interface Window {
  startedAt: number;
  used: number;
  /** Used in the window before this one; it counts for the part of it that is less than a minute ago. */
  before: number;
}

/** What a principal may still start. */
export interface Allowance {
  readonly limit: number;
  /** Starts left now. */
  readonly remaining: number;
  /** 0: one may start now. Else seconds until one may. */
  readonly retryAfterSeconds: number;
}

/**
 * Starts a minute for each principal, over a sliding window, in bounded memory. It guards one process: with several API
 * processes each allows as much. Caps of what is stored are the database's.
 */
export class StartLimiter {
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly limit: number,
    private readonly clock: Clock,
  ) {}

  /** What is left, without using any of it. */
  peek(principal: string): Allowance {
    const now = this.clock.monotonic();
    return this.allowance(this.windowOf(principal, now), now);
  }

  /** Uses one start. Throws `rate_limited` when none is left. */
  take(principal: string): Allowance {
    const now = this.clock.monotonic();
    const window = this.windowOf(principal, now);
    const { retryAfterSeconds } = this.allowance(window, now);
    if (retryAfterSeconds > 0) throw rateLimited(retryAfterSeconds, this.limit);
    window.used += 1;
    this.windows.delete(principal);
    this.windows.set(principal, window);
    if (this.windows.size > maxPrincipals) this.forgetOldest();
    return this.allowance(window, now);
  }

  /** Gives one start back: it turned out to be the repetition of an earlier one. */
  giveBack(principal: string): Allowance {
    const now = this.clock.monotonic();
    const window = this.windowOf(principal, now);
    window.used = Math.max(0, window.used - 1);
    return this.allowance(window, now);
  }

  /** Principals held in memory. */
  get size(): number {
    return this.windows.size;
  }

  private windowOf(principal: string, now: number): Window {
    const window = this.windows.get(principal) ?? { startedAt: now, used: 0, before: 0 };
    const passed = Math.floor((now - window.startedAt) / windowMs);
    if (passed > 0) {
      window.before = passed === 1 ? window.used : 0;
      window.used = 0;
      window.startedAt += passed * windowMs;
    }
    return window;
  }

  private allowance({ startedAt, used, before }: Window, now: number): Allowance {
    const age = now - startedAt;
    const weight = used + before * (1 - age / windowMs);
    const remaining = Math.max(0, Math.floor(this.limit - weight));
    if (remaining > 0) return { limit: this.limit, remaining, retryAfterSeconds: 0 };
    // What is needed falls away with the window before this one, or, once this one is full, with this one itself.
    const room = this.limit - 1 - used;
    const waitMs =
      room >= 0 && before > 0
        ? windowMs * (1 - room / before) - age
        : windowMs - age + windowMs * (1 - (this.limit - 1) / Math.max(used, 1));
    return { limit: this.limit, remaining: 0, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) };
  }

  private forgetOldest(): void {
    for (const principal of this.windows.keys()) {
      this.windows.delete(principal);
      return;
    }
  }
}
