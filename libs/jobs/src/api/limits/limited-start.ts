import { type MemberPrincipal, scopeOf } from '#auth';
import { type Allowance, AppError } from '#platform';

import type { JobsRepository } from '../../jobs.repository.js';
import type { StartedJob } from '../../start/start-request.js';
import type { Starter, StartLimiter } from './start-limiter.js';

/** Runs a start that counts against a rate limit. A repeated start does not count. Throws `rate_limited` and the errors of `start`. */
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

/** The caller, and the idempotency key that identifies a repeated start; null if the caller gave none. */
export interface ChargedStart {
  readonly principal: MemberPrincipal;
  readonly key: string | null;
}

/**
 * Like `limitedStart`, for endpoints that report the remaining allowance. If no start is left, the key is looked up, and a repeated start
 * still passes. Throws `rate_limited` and the errors of `start`.
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
