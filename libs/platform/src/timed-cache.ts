import { LRUCache } from 'lru-cache';

import type { Clock } from './clock.js';

/**
 * Remembers answers for `ttlMs`, counted from when their load began, and at most `max` of them (the least recently used goes
 * first). Callers at the same time share one load. A failed load is not remembered. After `clear` or `forget`, only callers that
 * already waited get the result of a load that began before it.
 */
export class TimedCache<V> {
  private readonly entries: LRUCache<string, Promise<V>>;
  private readonly clock: Clock;

  /** `ttlMs` and `max` are positive integers. */
  constructor({ clock, ttlMs, max }: { readonly clock: Clock; readonly ttlMs: number; readonly max: number }) {
    this.clock = clock;
    // lru-cache drops an entry that is older than `ttl`; here one of exactly that age is too old.
    const perf = { now: () => clock.monotonic() + 0.001 };
    this.entries = new LRUCache({ max, ttl: ttlMs, ttlResolution: 0, perf });
  }

  /** The remembered answer, or that of `load`. */
  get(key: string, load: () => Promise<V>): Promise<V> {
    const known = this.entries.get(key);
    if (known !== undefined) return known;
    const start = this.clock.monotonic();
    const value = load();
    this.entries.set(key, value, { start });
    value.catch(() => {
      if (this.entries.peek(key) === value) this.entries.delete(key);
    });
    return value;
  }

  /** Forgets one answer. */
  forget(key: string): void {
    this.entries.delete(key);
  }

  /** Forgets everything. */
  clear(): void {
    this.entries.clear();
  }

  /** How many answers are stored. */
  get size(): number {
    return this.entries.size;
  }
}
