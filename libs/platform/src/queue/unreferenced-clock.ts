import type { Clock } from 'pg-boss';

const clear = (timer: unknown) => {
  clearTimeout(timer as NodeJS.Timeout); // `unreferencedClock` made it; this also clears an interval
};

/** pg-boss's timers keep no process alive, like those of our own clock. */
export const unreferencedClock: Clock = {
  now: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, Math.max(ms, 0)).unref(), // Node warns about a time that has passed
  clearTimeout: clear,
  setInterval: (run, ms) => setInterval(run, ms).unref(),
  clearInterval: clear,
};
