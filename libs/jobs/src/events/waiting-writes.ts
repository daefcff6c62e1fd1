import type { Clock, Timer } from '#platform';

interface WaitingWrite {
  /** On the monotonic clock. */
  readonly dueAt: number;
  readonly go: () => void;
  readonly timer: Timer;
}

/**
 * Writes that may wait to share a commit. Each is sent when its time has come, or with a batch that is sent at most `rideMs` before that:
 * so the streams of a process soon flush together, which takes a fraction of the commits. Each run has at most one waiting write; a batch
 * checks all of them.
 */
export class WaitingWrites {
  private readonly waiting = new Set<WaitingWrite>();

  constructor(
    private readonly clock: Clock,
    private readonly rideMs: number,
  ) {}

  /** Calls `go` once, after at most `ms`, unless it is cancelled. */
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

  /** Call it right before a batch is sent. */
  flushDue(): void {
    const latest = this.clock.monotonic() + this.rideMs;
    for (const write of [...this.waiting]) {
      if (write.dueAt > latest) continue;
      write.timer.cancel();
      this.waiting.delete(write);
      write.go();
    }
  }
}
