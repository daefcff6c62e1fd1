import { setImmediate } from 'node:timers';

import { type Clock, systemClock } from '#platform';

/** How long (ms) all streams together work before other work of the process runs. */
const TURN_MS = 5;
/** How long (ms) one stream works at once if several streams wait. */
const SHARE_MS = 1;

/**
 * Shares the time of the process between its model streams and its other work, because a server may send bytes faster than they can be read. A
 * stream works without a pause while time of the turn is left. Then streams wait in a queue; in the next turn of the event loop, the first ones
 * continue. The time is renewed only when it is used up, so streams that need little of it seldom wait.
 */
export class StreamTurns {
  private leftMs = TURN_MS;
  private readonly queue: { readonly slice: () => boolean; readonly resolve: () => void }[] = [];

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  /**
   * Calls `slice` once or several times, until it returns false because no work is left, or until its time is used up. Returns a promise if
   * `slice` runs in a later turn of the event loop, else undefined. `slice` must not throw, and should take about a millisecond.
   */
  run(slice: () => boolean): Promise<void> | undefined {
    if (this.leftMs > 0) {
      this.work(slice, this.leftMs);
      return undefined;
    }
    if (this.queue.length === 0) setImmediate(this.begin);
    return new Promise((resolve) => {
      this.queue.push({ slice, resolve });
    });
  }

  private readonly begin = (): void => {
    this.leftMs = TURN_MS;
    while (this.leftMs > 0) {
      const first = this.queue.shift();
      if (first === undefined) return;
      this.work(first.slice, SHARE_MS);
      first.resolve();
    }
    if (this.queue.length > 0) setImmediate(this.begin);
  };

  private work(slice: () => boolean, maxMs: number): void {
    const start = this.clock.monotonic();
    let isLeft: boolean;
    let usedMs: number;
    do {
      isLeft = slice();
      usedMs = this.clock.monotonic() - start;
    } while (isLeft && usedMs < maxMs);
    this.leftMs -= usedMs;
  }
}

/** All model streams of the process share it. */
export const streamTurns = new StreamTurns(systemClock);
