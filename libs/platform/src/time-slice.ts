import { type Clock, systemClock } from './clock.js';

/** Other work of the process, such as the renewal of leases, waits at most about this long for work in small steps. */
const sliceMs = 10;

/** Divides long synchronous work so that it does not block the event loop: when a slice is over, the work continues in the next turn of the loop. */
export class TimeSlice {
  /** When the work began in this turn of the event loop; undefined: it has not begun. */
  private since: number | undefined;

  constructor(private readonly clock: Pick<Clock, 'monotonic'> = systemClock) {}

  /** Read it before each step. Promises that resolve within the same turn do not begin another slice. */
  get isOver(): boolean {
    this.since ??= this.begin();
    return this.clock.monotonic() - this.since >= sliceMs;
  }

  /** Resolves after other work had its turn. */
  async nextTurn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.since = this.begin();
  }

  private begin(): number {
    setImmediate(() => {
      this.since = undefined;
    });
    return this.clock.monotonic();
  }
}

/** Maps the items in order, and lets other work of the process run in between. */
export async function mapInSlices<Item, Result>(
  items: Iterable<Item>,
  step: (item: Item) => Result,
  slice: Pick<TimeSlice, 'isOver' | 'nextTurn'> = new TimeSlice(),
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    if (slice.isOver) await slice.nextTurn();
    results.push(step(item));
  }
  return results;
}
