import type { ModelError } from '#models';

/** When and how a failed model request is repeated. Times in ms. */
export interface RetryPolicy {
  /** How long it is retried at least once a minute; later retries are less frequent. */
  readonly retryForMs: number;
  readonly onProviderDown: 'wait' | 'fail';
  /** The first wait; each further one is twice as long. */
  readonly backoffMs: number;
  /** The longest wait that keeps the worker slot. */
  readonly holdMs: number;
  /** After this time of failures the job fails. */
  readonly waitForMs: number;
}

/** Failed requests of one round in a row. */
export interface Outage {
  /** The first failure, ms since the epoch. */
  readonly since: number;
  /** Requests that were sent and failed; >= 0: none, when requests were paused from the beginning. */
  readonly failures: number;
}

/** What follows a failure. `retry`: the worker sleeps. `wait`: the job gives its worker up until `at` (ms since the epoch). */
export type RetryPlan =
  | { readonly type: 'retry'; readonly delayMs: number }
  | { readonly type: 'wait'; readonly delayMs: number; readonly at: number; readonly givesUpAt: number }
  | { readonly type: 'fail'; readonly isTimeOver: boolean };

const maxBackoffMs = 60_000;
const maxLateBackoffMs = 600_000;
/** How often a job that must not wait asks again while another request probes the provider. */
const MAX_PROBE_CHECK_MS = 5_000;

/**
 * Decides what follows the last failure of an outage. A `Retry-After` that is longer than the backoff replaces it and is honored until
 * the job gives up; one of 0 or a date in the past changes nothing. A jitter of a quarter spreads jobs that failed together; after a `Retry-After`, up to a tenth is added and nothing taken away.
 * A wait for paused requests is never a sleep, so that paused jobs take no slots; only a job that must not wait sleeps until the outcome of
 * a probe. Pure; `random` returns 0 <= x < 1.
 */
export function planRetry(
  outage: Outage,
  failure: Pick<ModelError, 'retryAfterSeconds' | 'isPaused' | 'isProbed'>,
  { policy, now, random }: { readonly policy: RetryPolicy; readonly now: number; readonly random: () => number },
): RetryPlan {
  const givesUpAt = outage.since + policy.waitForMs;
  if (now >= givesUpAt) return { type: 'fail', isTimeOver: true };
  const isEarly = now - outage.since < policy.retryForMs;
  const most = isEarly ? maxBackoffMs : Math.max(policy.backoffMs, maxLateBackoffMs);
  const sent = failure.isPaused ? 0 : outage.failures; // a pause of the breaker grows by itself
  const doubled = Math.min(most, policy.backoffMs * 2 ** Math.min(30, Math.max(0, sent - 1)));
  const backoffMs = doubled * (0.75 + random() * 0.5);
  const askedMs = (failure.retryAfterSeconds ?? 0) * 1_000 * (1 + random() * 0.1);
  const delayMs = Math.round(Math.max(backoffMs, askedMs + (failure.isPaused ? policy.backoffMs * random() : 0)));
  if (isEarly && !failure.isPaused && delayMs <= policy.holdMs) return { type: 'retry', delayMs };
  if (policy.onProviderDown === 'fail') {
    // The request that probes the provider may succeed, so a job that must not wait asks again while its retry time lasts.
    const awaitsProbe = isEarly && failure.isProbed;
    return awaitsProbe
      ? { type: 'retry', delayMs: Math.min(delayMs, MAX_PROBE_CHECK_MS) }
      : { type: 'fail', isTimeOver: false };
  }
  const at = Math.min(now + Math.max(1, delayMs), givesUpAt);
  return { type: 'wait', delayMs: at - now, at, givesUpAt };
}
