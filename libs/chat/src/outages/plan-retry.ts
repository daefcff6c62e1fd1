import type { ModelError } from '#models';

/** The settings that decide when and how a failed model request is repeated. Times in ms. */
export interface RetryPolicy {
  /** For how long a request is retried with a backoff of at most about one minute; later the backoff grows to ten minutes. */
  readonly retryForMs: number;
  readonly onProviderDown: 'wait' | 'fail';
  /** The first delay; it doubles with each retry. */
  readonly backoffMs: number;
  /** The longest delay during which the job keeps its worker slot. */
  readonly holdMs: number;
  /** After this time of failures, the job fails. */
  readonly waitForMs: number;
}

/** The failed requests of one round in a row. */
export interface Outage {
  /** The instant of the first failure, ms since the epoch. */
  readonly since: number;
  /** Number of requests that were sent and failed. 0 if requests were paused from the beginning. */
  readonly failures: number;
}

/** The reaction to a failure. `retry`: the worker sleeps. `wait`: the job releases its worker until `at` (ms since the epoch). */
export type RetryPlan =
  | { readonly type: 'retry'; readonly delayMs: number }
  | { readonly type: 'wait'; readonly delayMs: number; readonly at: number; readonly givesUpAt: number }
  | { readonly type: 'fail'; readonly isTimeOver: boolean };

const maxBackoffMs = 60_000;
const maxLateBackoffMs = 600_000;
/** Longest delay before a job that must not wait tries again, while another request probes the provider. */
const MAX_PROBE_CHECK_MS = 5_000;

/**
 * Decides what follows the last failure of an outage. A `Retry-After` that is longer than the backoff replaces it, until the job gives up; a
 * `Retry-After` of 0 or in the past has no effect. The backoff varies by a quarter, so that jobs that failed together are spread; a
 * `Retry-After` is extended by up to a tenth and never shortened. For paused requests the job waits and does not sleep, so that it occupies
 * no slot; only a job that must not wait sleeps until the outcome of a probe. Pure; `random` returns 0 <= x < 1.
 */
export function planRetry(
  outage: Outage,
  failure: Pick<ModelError, 'retryAfterSeconds' | 'isPaused' | 'isProbed'>,
  { policy, now, random }: { readonly policy: RetryPolicy; readonly now: number; readonly random: () => number },
): RetryPlan {
  const givesUpAt = outage.since + policy.waitForMs;
  if (now >= givesUpAt) return { type: 'fail', isTimeOver: true };
  const isEarly = now - outage.since < policy.retryForMs;
  const max = isEarly ? maxBackoffMs : Math.max(policy.backoffMs, maxLateBackoffMs);
  const sent = failure.isPaused ? 0 : outage.failures; // the breaker itself prolongs its pauses
  const doubled = Math.min(max, policy.backoffMs * 2 ** Math.min(30, Math.max(0, sent - 1)));
  const backoffMs = doubled * (0.75 + random() * 0.5);
  const askedMs = (failure.retryAfterSeconds ?? 0) * 1_000 * (1 + random() * 0.1);
  const delayMs = Math.round(Math.max(backoffMs, askedMs + (failure.isPaused ? policy.backoffMs * random() : 0)));
  if (isEarly && !failure.isPaused && delayMs <= policy.holdMs) return { type: 'retry', delayMs };
  if (policy.onProviderDown === 'fail') {
    // The request that probes the provider may succeed. So a job that must not wait tries again, as long as `retryForMs` allows.
    const awaitsProbe = isEarly && failure.isProbed;
    return awaitsProbe
      ? { type: 'retry', delayMs: Math.min(delayMs, MAX_PROBE_CHECK_MS) }
      : { type: 'fail', isTimeOver: false };
  }
  const at = Math.min(now + Math.max(1, delayMs), givesUpAt);
  return { type: 'wait', delayMs: at - now, at, givesUpAt };
}
