import { type Clock, systemClock } from './clock.js';

/** Other work of the process, such as the renewal of leases, waits at most about this long for work in small steps. */
const sliceMs = 10;

/**
 * Divides long synchronous work, so that it does not block the event loop: when a slice is over, the work continues in a later turn of the
 * loop. All work that uses the same `TimeSlice` shares the slice of a turn, and waits in a queue.
 */
export class TimeSlice {
  /** When the work began in this turn of the event loop; undefined: it has not begun. */
  private since: number | undefined;
  private readonly queue: (() => void)[] = [];

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  /** Read it before each step. Promises that resolve within the same turn do not begin another slice. */
  get isOver(): boolean {
    this.since ??= this.begin();
    return this.clock.monotonic() - this.since >= sliceMs;
  }

  /** Resolves in a later turn of the event loop, after other work of the process. */
  async nextTurn(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.queue.push(resolve);
      if (this.queue.length === 1) setImmediate(this.resumeFirst);
    });
  }

  private readonly resumeFirst = (): void => {
    this.since = this.begin();
    this.queue.shift()?.();
    if (this.queue.length > 0) setImmediate(this.resumeFirst);
  };

  private begin(): number {
    setImmediate(() => {
      this.since = undefined;
    });
    return this.clock.monotonic();
  }
}

/** Shared by all long work of the process. */
export const timeSlice = new TimeSlice(systemClock);

/** Maps the items in order, and lets other work of the process run in between. */
export async function mapInSlices<Item, Result>(
  items: Iterable<Item>,
  step: (item: Item) => Result,
  slice: Pick<TimeSlice, 'isOver' | 'nextTurn'> = timeSlice,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    if (slice.isOver) await slice.nextTurn();
    results.push(step(item));
  }
  return results;
}
