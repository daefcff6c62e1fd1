import type { Clock, Timer } from './clock.js';

const slices = 10;

/**
 * Runs `run` once after `timeoutMs` in which this process was awake, in ten slices: a standstill of the machine, however long,
 * counts as one of them at most. For giving up on others, who must not be blamed for what we have not got round to reading.
 */
export function awakeTimeout(clock: Clock, timeoutMs: number, run: () => void): Timer {
  let timer: Timer;
  const wait = (left: number): void => {
    timer = clock.after(timeoutMs / slices, () => {
      if (left > 1) wait(left - 1);
      else run();
    });
  };
  wait(slices);
  return {
    cancel: () => {
      timer.cancel();
    },
  };
}
