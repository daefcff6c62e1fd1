import type { StartedJob } from '#jobs';

import type { StartLimiter } from './start-limiter.js';

/** Starts something that counts against a limit; a repetition of an earlier start does not. Throws `rate_limited`, and as `start`. */
export async function limitedStart(
  limiter: StartLimiter,
  principal: string,
  start: () => Promise<StartedJob>,
): Promise<StartedJob> {
  limiter.take(principal);
  const started = await start();
  if (started.replayed) limiter.giveBack(principal);
  return started;
}
