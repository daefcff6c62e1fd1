import { describe, expect, it } from '@jest/globals';

import { planRetry, type RetryPlan, type RetryPolicy } from './plan-retry.js';

const policy: RetryPolicy = {
  ...{ retryForMs: 600_000, onProviderDown: 'wait', backoffMs: 1_000, holdMs: 5_000, waitForMs: 86_400_000 },
};
const since = 1_000_000;

function plan(
  failures: number,
  {
    elapsed = 0,
    random = 0.5,
    failure = {},
    ...changes
  }: { elapsed?: number; random?: number; failure?: object } & Partial<RetryPolicy> = {},
): RetryPlan {
  return planRetry(
    { since, failures },
    { retryAfterSeconds: undefined, isPaused: false, isProbed: false, ...failure },
    { policy: { ...policy, ...changes }, now: since + elapsed, random: () => random },
  );
}

const delays = (elapsed: number, random?: number) =>
  [1, 2, 3, 4, 5, 6, 7, 8, 9, 40].map((failures) => {
    const next = plan(failures, { elapsed, ...(random === undefined ? {} : { random }) });
    return next.type === 'fail' ? -1 : next.delayMs / 1_000;
  });

describe('planRetry', () => {
  it('doubles the wait from one second to a minute while the retry time lasts, and to ten minutes afterwards', () => {
    expect(delays(0)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
    expect(delays(600_000)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 600]);
  });

  it('spreads the backoff by a quarter to both sides', () => {
    expect(delays(0, 0).slice(0, 2)).toEqual([0.75, 1.5]);
    expect(delays(0, 0.9999).slice(0, 2)).toEqual([1.25, 2.5]);
  });

  it('keeps the worker slot for short waits and releases it for longer ones', () => {
    expect(plan(3)).toEqual({ type: 'retry', delayMs: 4_000 });
    const givesUpAt = since + 86_400_000;
    expect(plan(4)).toEqual({ type: 'wait', delayMs: 8_000, at: since + 8_000, givesUpAt });
    expect(plan(1, { elapsed: 600_000 })).toMatchObject({ type: 'wait', delayMs: 1_000 });
    expect(plan(1, { retryForMs: 0 })).toMatchObject({ type: 'wait', delayMs: 1_000 });
  });

  it('waits for Retry-After plus up to a tenth, but not past the deadline of the wait', () => {
    expect(plan(1, { failure: { retryAfterSeconds: 3 } })).toEqual({ type: 'retry', delayMs: 3_150 });
    expect(plan(1, { failure: { retryAfterSeconds: 2 }, random: 0 })).toEqual({ type: 'retry', delayMs: 2_000 });
    expect(plan(1, { failure: { retryAfterSeconds: 600 } })).toMatchObject({ type: 'wait', delayMs: 630_000 });
    const late = plan(1, { elapsed: 86_000_000, failure: { retryAfterSeconds: 99_999 } });
    expect(late).toMatchObject({ type: 'wait', at: since + 86_400_000 });
  });

  it('sleeps for the outcome of a probe when the job must not wait, while the retry time lasts', () => {
    const failure = { isPaused: true, isProbed: true, retryAfterSeconds: 60 };
    expect(plan(1, { onProviderDown: 'fail', failure })).toEqual({ type: 'retry', delayMs: 5_000 });
    expect(plan(1, { onProviderDown: 'fail', failure: { ...failure, retryAfterSeconds: 2 } })).toMatchObject({
      type: 'retry',
    });
    expect(plan(1, { onProviderDown: 'fail', failure, elapsed: 600_000 })).toEqual({ type: 'fail', isTimeOver: false });
    expect(plan(1, { onProviderDown: 'fail', failure: { ...failure, isProbed: false } })).toMatchObject({
      type: 'fail',
    });
    expect(plan(1, { failure })).toMatchObject({ type: 'wait' });
  });

  it('keeps the backoff when the provider asks for a shorter wait, for none, or names a time in the past', () => {
    expect(plan(9, { failure: { retryAfterSeconds: 2 } })).toMatchObject({ type: 'wait', delayMs: 60_000 });
    for (const retryAfterSeconds of [0, -5]) {
      expect(plan(3, { failure: { retryAfterSeconds } })).toEqual({ type: 'retry', delayMs: 4_000 });
      expect(plan(0, { failure: { retryAfterSeconds, isPaused: true } })).toMatchObject({ delayMs: 1_000 });
    }
  });

  it('releases the worker slot while requests are paused, also for a short pause', () => {
    const failure = { isPaused: true, retryAfterSeconds: 0.6 };
    expect(plan(5, { failure })).toMatchObject({ type: 'wait', delayMs: 1_130 });
  });

  it('fails instead of waiting with the policy `fail`, and once the retry time is over', () => {
    expect(plan(1, { onProviderDown: 'fail' })).toMatchObject({ type: 'retry' });
    expect(plan(4, { onProviderDown: 'fail' })).toEqual({ type: 'fail', isTimeOver: false });
    expect(plan(1, { onProviderDown: 'fail', retryForMs: 0 })).toEqual({ type: 'fail', isTimeOver: false });
    expect(plan(1, { elapsed: 86_400_000 })).toEqual({ type: 'fail', isTimeOver: true });
  });
});
