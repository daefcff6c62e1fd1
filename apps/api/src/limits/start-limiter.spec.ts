import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { AppError, ManualClock } from '#platform';

import { StartLimiter } from './start-limiter.js';

function takeAll(limiter: StartLimiter, principal: string, most = 10_000): number {
  let taken = 0;
  try {
    while (taken < most) {
      limiter.take(principal);
      taken++;
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
  return taken;
}

describe('StartLimiter', () => {
  it('allows as many as the limit at once, and says when the next may come', () => {
    const limiter = new StartLimiter(3, new ManualClock());
    expect(limiter.take('a')).toEqual({ limit: 3, remaining: 2, retryAfterSeconds: 0 });
    expect(takeAll(limiter, 'a')).toBe(2);
    expect(() => limiter.take('a')).toThrow(expect.objectContaining({ code: 'rate_limited' }));
    expect(limiter.peek('a').retryAfterSeconds).toBeGreaterThan(0);
  });

  it('counts principals apart', () => {
    const limiter = new StartLimiter(1, new ManualClock());
    limiter.take('a');
    expect(limiter.take('b').remaining).toBe(0);
  });

  it('allows a start again after the time it named', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 200_000 }), (limit, pause) => {
        const clock = new ManualClock();
        const limiter = new StartLimiter(limit, clock);
        takeAll(limiter, 'a');
        clock.advance(pause);
        takeAll(limiter, 'a');
        clock.advance(limiter.peek('a').retryAfterSeconds * 1_000);
        expect(takeAll(limiter, 'a', 1)).toBe(1);
      }),
    );
  });

  it('never allows more than twice the limit in any minute, and no more than the limit on average', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 20, maxLength: 60 }), (pauses) => {
        const clock = new ManualClock(0);
        const limiter = new StartLimiter(10, clock);
        let taken = 0;
        for (const pause of pauses) {
          taken += takeAll(limiter, 'a');
          clock.advance(pause);
        }
        expect(taken).toBeLessThanOrEqual(10 * (clock.now() / 60_000 + 1));
      }),
    );
  });

  it('gives back what turned out to be a repetition', () => {
    const limiter = new StartLimiter(1, new ManualClock());
    limiter.take('a');
    expect(limiter.giveBack('a').remaining).toBe(1);
    expect(limiter.take('a').remaining).toBe(0);
  });

  it('remembers a bounded number of principals', () => {
    const limiter = new StartLimiter(5, new ManualClock());
    for (let i = 0; i < 10_050; i++) limiter.take(`p${i}`);
    expect(limiter.size).toBe(10_000);
  });
});
