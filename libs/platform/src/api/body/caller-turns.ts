import type { Clock, Timer } from '../../clock.js';

/** Pause between two slots. */
const PAUSE_MS = 1;
/** A caller may use a tenth of the event loop on average: after 1 ms of work it waits 9 ms. */
const MS_PER_MS_OF_WORK = 10;
/** After a pause, a caller may do this much work without a delay, in ms. */
const BURST_MS = 50;
/** Two: each call adds at most one entry, so it checks more entries than it adds. */
const CHECKED_UNPAID = 2;

interface Turn {
  readonly costMs: number;
  readonly run: () => void;
}

/**
 * Shares the event loop between callers whose requests need much work. A turn is a slot for such work. Turns are `PAUSE_MS` apart, and callers get them alternately. A caller
 * who has used more than its share waits, so a caller with many large requests delays only itself. Costs are estimates in ms of the event
 * loop.
 */
export class CallerTurns {
  /** Waiting turns by caller. The caller who has waited longest is first. */
  private readonly waiting = new Map<string, Set<Turn>>();
  /** The instant at which the share of each caller covers its work so far. */
  private readonly paidAt = new Map<string, number>();
  private timer: Timer | undefined;
  private timerAt = 0;

  constructor(private readonly clock: Clock) {}

  /** The number of callers who wait for a turn. */
  get size(): number {
    return this.waiting.size;
  }

  /** The number of callers whose recent work is stored. */
  get remembered(): number {
    return this.paidAt.size;
  }

  /** Takes a turn now. Returns false without a turn if the caller has used its share or already waits. */
  takeNow(caller: string, costMs: number): boolean {
    if (this.waiting.has(caller) || this.allowedAt(caller) > this.clock.monotonic()) return false;
    this.charge(caller, costMs);
    return true;
  }

  /** Calls `run` at the next turn of the caller. Returns a function that withdraws it. */
  next(caller: string, costMs: number, run: () => void): () => void {
    const turn: Turn = { costMs, run };
    const own = this.waiting.get(caller) ?? new Set();
    this.waiting.set(caller, own.add(turn));
    this.wake(this.allowedAt(caller));
    return () => {
      if (own.delete(turn) && own.size === 0) this.waiting.delete(caller);
    };
  }

  private allowedAt(caller: string): number {
    return (this.paidAt.get(caller) ?? 0) - BURST_MS * MS_PER_MS_OF_WORK;
  }

  private charge(caller: string, costMs: number): void {
    const now = this.clock.monotonic();
    const paidAt = Math.max(now, this.paidAt.get(caller) ?? 0) + costMs * MS_PER_MS_OF_WORK;
    this.paidAt.delete(caller);
    this.paidAt.set(caller, paidAt);
    this.forgetPaid(now);
  }

  /**
   * Removes callers whose work is paid, until it meets `CHECKED_UNPAID` others. Those move to the end, so the next calls check the callers
   * behind them.
   */
  private forgetPaid(now: number): void {
    let unpaid = 0;
    for (const [caller, at] of this.paidAt) {
      this.paidAt.delete(caller);
      if (at <= now) continue;
      this.paidAt.set(caller, at);
      unpaid += 1;
      if (unpaid === CHECKED_UNPAID) return;
    }
  }

  /** Runs a turn at the instant `at`, or after the pause, unless one runs earlier. */
  private wake(at: number): void {
    const now = this.clock.monotonic();
    const due = Math.max(at, now + PAUSE_MS);
    if (this.timer !== undefined && this.timerAt <= due) return;
    this.timer?.cancel();
    this.timerAt = due;
    this.timer = this.clock.after(due - now, () => {
      this.timer = undefined;
      this.runOne();
    });
  }

  private runOne(): void {
    const now = this.clock.monotonic();
    const turn = this.takeFirst(now);
    if (this.waiting.size > 0) this.wake(Math.min(...[...this.waiting.keys()].map((caller) => this.allowedAt(caller))));
    turn?.run();
  }

  /** Removes and returns the turn of the first caller who may have one. */
  private takeFirst(now: number): Turn | undefined {
    for (const [caller, own] of this.waiting) {
      if (this.allowedAt(caller) > now) continue;
      const [turn] = own;
      if (turn === undefined) continue;
      this.charge(caller, turn.costMs);
      own.delete(turn);
      this.waiting.delete(caller);
      if (own.size > 0) this.waiting.set(caller, own);
      return turn;
    }
    return undefined;
  }
}
