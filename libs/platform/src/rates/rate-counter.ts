/** The use of a limit by a key in the current window. */
export interface RateCount {
  /** The points of all processes together, including the added ones; may exceed the limit. */
  readonly used: number;
  /** Time in ms until the window ends and the count restarts at zero. */
  readonly msLeft: number;
}

/** Counts the use of a limit within a window. All processes share one counter. */
export interface RateCounter {
  /** Adds `points` to the use of `key`, even beyond the limit. Never rejects: without its store, it counts for this process alone. */
  add(key: string, points: number): Promise<RateCount>;
}
