import { LRUCache } from 'lru-cache';

import type { Clock } from './clock.js';

/**
 * Caches values for `ttlMs` from the beginning of their load, and at most `max` of them (the least recently used is evicted first).
 * Concurrent callers share one load. A failed load is not cached. After `clear` or `forget`, only callers that already waited get the result
 * of a load that began before it.
 */
export class TimedCache<V> {
  private readonly entries: LRUCache<string, Promise<V>>;
  private readonly clock: Clock;

  /** `ttlMs` and `max` are positive integers. */
  constructor({ clock, ttlMs, max }: { readonly clock: Clock; readonly ttlMs: number; readonly max: number }) {
    this.clock = clock;
    // lru-cache drops an entry that is older than `ttl`; here, an entry of exactly that age is dropped too.
    const perf = { now: () => clock.monotonic() + 0.001 };
    this.entries = new LRUCache({ max, ttl: ttlMs, ttlResolution: 0, perf });
  }

  /** Returns the cached value, or loads it. */
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

  /** Removes one value. */
  forget(key: string): void {
    this.entries.delete(key);
  }

  /** Removes all values. */
  clear(): void {
    this.entries.clear();
  }

  /** The number of cached values. */
  get size(): number {
    return this.entries.size;
  }
}
