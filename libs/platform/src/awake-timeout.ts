import type { Clock, Timer } from './clock.js';

const slices = 10;

/**
 * Runs `run` once after `timeoutMs` in which this process was awake, in ten slices: a suspension of the machine of any length counts as at
 * most one slice. Use it before giving up on a remote side, whose messages this process may not have read yet.
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
