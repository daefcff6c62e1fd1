import type { Clock } from './clock.js';

interface Entry<V> {
  readonly value: Promise<V>;
  readonly until: number;
}

/**
 * Remembers answers for `ttlMs`, counted from when the asking began, and at most `max` of them (the least recently used
 * goes first). Concurrent callers share one load. A failed load is not remembered. After `clear` or `forget`, a caller never
 * gets a value whose load began before it, except callers who were waiting for that load already.
 */
export class TimedCache<V> {
  private readonly entries = new Map<string, Entry<V>>();

  constructor(private readonly options: { readonly clock: Clock; readonly ttlMs: number; readonly max: number }) {}

  /** The remembered answer, or that of `load`. */
  get(key: string, load: () => Promise<V>): Promise<V> {
    const now = this.options.clock.monotonic();
    const known = this.entries.get(key);
    this.entries.delete(key);
    const entry = known !== undefined && now < known.until ? known : this.load(key, load);
    this.entries.set(key, entry);
    if (this.entries.size > this.options.max) this.dropOldest();
    return entry.value;
  }

  /** Forgets one answer. */
  forget(key: string): void {
    this.entries.delete(key);
  }

  /** Forgets everything. */
  clear(): void {
    this.entries.clear();
  }

  /** How many answers are held. */
  get size(): number {
    return this.entries.size;
  }

  private load(key: string, load: () => Promise<V>): Entry<V> {
    const until = this.options.clock.monotonic() + this.options.ttlMs;
    const entry: Entry<V> = { value: load(), until };
    entry.value.catch(() => {
      if (this.entries.get(key) === entry) this.entries.delete(key);
    });
    return entry;
  }

  private dropOldest(): void {
    for (const key of this.entries.keys()) {
      this.entries.delete(key);
      return;
    }
  }
}
