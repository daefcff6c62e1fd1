import type { Clock, Timer } from '#platform';

interface WaitingWrite {
  /** By the monotonic clock. */
  readonly dueAt: number;
  readonly go: () => void;
  readonly timer: Timer;
}

/**
 * Writes that wait for company. Each goes when its time has come, or with a batch that leaves at most `rideMs` before: so the many
 * streams of a process soon flush together, in a fraction of the commits. There are as many as runs at most; a batch looks at each.
 */
export class WaitingWrites {
  private readonly waiting = new Set<WaitingWrite>();

  constructor(
    private readonly clock: Clock,
    private readonly rideMs: number,
  ) {}

  /** Calls `go` once, at the latest after `ms`, unless it is cancelled. */
  later(ms: number, go: () => void): Timer {
    const timer = this.clock.after(ms, () => {
      this.waiting.delete(write);
      go();
    });
    const write: WaitingWrite = { dueAt: this.clock.monotonic() + ms, go, timer };
    this.waiting.add(write);
    return {
      cancel: () => {
        timer.cancel();
        this.waiting.delete(write);
      },
    };
  }

  /** A batch is about to leave. */
  board(): void {
    const latest = this.clock.monotonic() + this.rideMs;
    for (const write of [...this.waiting]) {
      if (write.dueAt > latest) continue;
      write.timer.cancel();
      this.waiting.delete(write);
      write.go();
    }
  }
}
