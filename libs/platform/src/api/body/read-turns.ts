import type { Clock } from '../../clock.js';

/** Pause between two parts. A part takes about 0.5 ms, so large bodies take a third of the event loop. */
const PAUSE_MS = 1;

/**
 * Shares the reading of large bodies between callers: each turn lets one body read its next part, and turns are `PAUSE_MS` apart. The event
 * loop serves small requests between two turns, and a caller with many bodies delays only itself.
 */
export class ReadTurns {
  /** Waiting readers, by caller; the caller who has waited longest is first. */
  private readonly waiting = new Map<string, Set<() => void>>();
  private isPaused = false;

  constructor(private readonly clock: Clock) {}

  /** Callers who wait for a turn. */
  get size(): number {
    return this.waiting.size;
  }

  /** Calls `read` when it is the caller's turn. Gives a function that withdraws it. */
  next(caller: string, read: () => void): () => void {
    const own = this.waiting.get(caller) ?? new Set();
    this.waiting.set(caller, own.add(read));
    this.pause();
    return () => {
      if (own.delete(read) && own.size === 0) this.waiting.delete(caller);
    };
  }

  private pause(): void {
    if (this.isPaused) return;
    this.isPaused = true;
    this.clock.after(PAUSE_MS, () => {
      this.isPaused = false;
      this.take();
    });
  }

  private take(): void {
    const [first] = this.waiting;
    if (first === undefined) return;
    const [caller, own] = first;
    const [read] = own;
    this.waiting.delete(caller);
    if (read !== undefined) own.delete(read);
    if (own.size > 0) this.waiting.set(caller, own);
    if (this.waiting.size > 0) this.pause();
    read?.();
  }
}
