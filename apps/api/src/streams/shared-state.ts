import type { Clock } from '#platform';
import type { WorkflowState } from '#workflows';

/** How often the state of a job is read at most, and how often a viewer is sent it. */
export const stateIntervalMs = 120;

export interface SharedStateParts {
  readonly read: () => Promise<WorkflowState>;
  readonly clock: Clock;
}

/** The state of one workflow job for all its viewers in this process: read when a viewer needs a newer one, at most once per interval. */
export class SharedState {
  /** Undefined: not read yet. */
  private latest: WorkflowState | undefined;
  private reading: Promise<void> | undefined;
  private readableAt = -Infinity;

  constructor(private readonly parts: SharedStateParts) {}

  /** The state after event `seq` or later; the same object until a viewer needs a newer one. Rejects as `read`. */
  async since(seq: number): Promise<WorkflowState> {
    // A read that was under way already may have missed the event.
    while (this.latest === undefined || this.latest.version < seq) await (this.reading ??= this.readInTime());
    return this.latest;
  }

  private async readInTime(): Promise<void> {
    const { clock, read } = this.parts;
    try {
      await until(clock, this.readableAt);
      this.latest = await read();
    } finally {
      this.readableAt = clock.monotonic() + stateIntervalMs;
      this.reading = undefined;
    }
  }
}

/** Resolves at an instant of the monotonic clock; at once when that is over. */
export function until(clock: Clock, at: number): Promise<void> {
  const leftMs = at - clock.monotonic();
  return leftMs <= 0
    ? Promise.resolve()
    : new Promise((resolve) => {
        clock.after(leftMs, resolve);
      });
}
