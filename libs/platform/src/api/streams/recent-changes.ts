import { systemClock } from '../../clock.js';

/** Changes within this time, in ms, form one batch, because a row that changes usually changes again soon, together with others. */
const gatherMs = 50;

/**
 * Recent changes by id, the oldest change first. All viewers share it: each stores only a number, so a slow viewer uses no memory and gets
 * each id once. Beyond `max` ids, the oldest are removed.
 */
export class RecentChanges {
  private readonly changedAt = new Map<string, number>();
  private readonly waiting = new Set<() => void>();
  private count = 0;

  constructor(private readonly max: number) {}

  note(id: string): void {
    this.count += 1;
    this.changedAt.delete(id);
    this.changedAt.set(id, this.count);
    const [oldest] = this.changedAt.keys();
    if (this.changedAt.size > this.max && oldest !== undefined) this.changedAt.delete(oldest);
    for (const wake of [...this.waiting]) wake();
  }

  /** Yields batches of ids that have changed since the call or since the last batch, until `signal` aborts. */
  follow(signal: AbortSignal): AsyncGenerator<readonly string[], void, undefined> {
    return this.batches(this.count, signal);
  }

  private async *batches(from: number, signal: AbortSignal): AsyncGenerator<readonly string[], void, undefined> {
    let seen = from;
    while (!signal.aborted) {
      const changed = [...this.changedAt].filter(([, at]) => at > seen).map(([id]) => id);
      seen = this.count;
      if (changed.length > 0) yield changed;
      else {
        await this.next(signal);
        await gather(signal);
      }
    }
  }

  private next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}

function gather(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = systemClock.after(gatherMs, done);
    signal.addEventListener('abort', done, { once: true });
    function done() {
      timer.cancel();
      signal.removeEventListener('abort', done);
      resolve();
    }
    if (signal.aborted) done();
  });
}
