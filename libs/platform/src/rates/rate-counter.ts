/** What a key has used of a limit in the current window. */
export interface RateCount {
  /** Of all processes together, these points included; may exceed the limit. */
  readonly used: number;
  /** Until the window ends and the count starts from zero. */
  readonly msLeft: number;
}

/** Counts what callers use within a window. One counter for all processes. */
export interface RateCounter {
  /** Adds `points` to what `key` has used, also beyond the limit. Never rejects: without its store it counts for this process alone. */
  add(key: string, points: number): Promise<RateCount>;
}
