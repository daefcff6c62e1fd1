import { type MemberPrincipal, scopeOf } from '#auth';
import { type Allowance, AppError } from '#platform';

import type { JobsRepository } from '../../jobs.repository.js';
import type { StartedJob } from '../../start/start-request.js';
import type { Starter, StartLimiter } from './start-limiter.js';

/** Starts something that counts against a limit; a repetition of an earlier start does not. Throws `rate_limited`, and as `start`. */
export async function limitedStart(
  limiter: StartLimiter,
  starter: Starter,
  start: () => Promise<StartedJob>,
): Promise<StartedJob> {
  await limiter.take(starter);
  const started = await start();
  if (started.replayed) limiter.giveBack(starter);
  return started;
}

/** Who starts, and the key by which a repetition is known; null: none was given. */
export interface ChargedStart {
  readonly principal: MemberPrincipal;
  readonly key: string | null;
}

/**
 * The same for endpoints that report the remaining allowance. A repeated start passes even without any: its key is looked up then. Throws
 * `rate_limited`, and as `start`.
 */
export async function chargedStart(
  { limiter, jobs }: { readonly limiter: StartLimiter; readonly jobs: JobsRepository },
  { principal, key }: ChargedStart,
  start: () => Promise<StartedJob>,
): Promise<{ readonly job: StartedJob; readonly allowance: Allowance }> {
  const isKnown = async () => key !== null && (await jobs.findAdmission(scopeOf(principal), key))?.jobId != null;
  const allowance = await charge(limiter, principal, isKnown);
  const job = await start();
  const wasCharged = allowance.retryAfterSeconds === 0;
  return { job, allowance: job.replayed && wasCharged ? limiter.giveBack(principal) : allowance };
}

async function charge(limiter: StartLimiter, starter: Starter, isKnown: () => Promise<boolean>): Promise<Allowance> {
  try {
    return await limiter.take(starter);
  } catch (error) {
    if (!(error instanceof AppError) || !(await isKnown())) throw error;
    return limiter.peek(starter);
  }
}
