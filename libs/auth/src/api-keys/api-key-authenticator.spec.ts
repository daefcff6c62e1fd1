import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { FailureLimiter } from './api-key-authenticator.js';

const limits = { failures: 2, windowMs: 60_000, names: 3 };

describe('FailureLimiter', () => {
  it('returns how long to wait once the limit is passed', () => {
    const clock = new ManualClock();
    const limiter = new FailureLimiter(clock, limits);
    expect([limiter.fail('a'), limiter.fail('a')]).toEqual([null, null]);
    clock.advance(15_500);
    expect(limiter.fail('a')).toBe(45);
    expect(limiter.fail('b')).toBeNull();
  });

  it('starts a new count after the window', () => {
    const clock = new ManualClock();
    const limiter = new FailureLimiter(clock, limits);
    for (let i = 0; i < 5; i++) limiter.fail('a');
    clock.advance(60_000);
    expect(limiter.fail('a')).toBeNull();
  });

  it('stores a bounded number of prefixes', () => {
    const limiter = new FailureLimiter(new ManualClock(), limits);
    for (let i = 0; i < 1_000; i++) limiter.fail(`name ${i}`);
    expect(limiter.size).toBe(3);
  });
});
