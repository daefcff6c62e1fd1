import { setTimeout as pause } from 'node:timers/promises';

type Task = (index: number, stop: () => void) => Promise<void>;

/** How many at once; the i-th of them begins `staggerMs` after the one before it. */
export interface Lanes {
  readonly width: number;
  readonly staggerMs?: number;
}

/**
 * Runs up to `count` tasks, `width` of them at any time. A task may call `stop`: then none starts any more. Rejects with
 * the first failure, once everything under way has ended.
 */
export async function inFlight(count: number, lanes: Lanes, task: Task): Promise<void> {
  const { width, staggerMs = 0 } = lanes;
  let next = 0;
  let stopped = false;
  const stop = () => {
    stopped = true;
  };
  const lane = async (place: number) => {
    if (staggerMs > 0) await pause(place * staggerMs);
    while (next < count && !stopped) {
      try {
        await task(next++, stop);
      } catch (error) {
        stop();
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(width, count) }, (_, place) => lane(place)));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
