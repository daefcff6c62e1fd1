import { describe, expect, it } from '@jest/globals';

import { parseRetryAfter, retryDelayMs } from './retry-delay.js';

const now = Date.parse('Fri, 20 Nov 2026 20:00:00 GMT');

describe('parseRetryAfter', () => {
  it.each([
    ['2', 2],
    [' 0 ', 0],
    ['1.2', 2],
    ['99999999999', 86_400],
    ['Fri, 20 Nov 2026 20:00:07 GMT', 7],
    ['Fri, 20 Nov 2026 19:00:00 GMT', 0],
    ['Fri, 20 Nov 2099 19:00:00 GMT', 86_400],
    ['-5', 0],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('reads %s as %s seconds', (header, seconds) => {
    expect(parseRetryAfter(header, now)).toBe(seconds);
  });
});

describe('retryDelayMs', () => {
  const policy = (random: number) => ({ backoffMs: 1_000, maxRetryAfterMs: 20_000, random: () => random });

  it('doubles with each retry, spread by a quarter to both sides', () => {
    expect([0, 1, 2].map((retry) => retryDelayMs(retry, undefined, policy(0.5)))).toEqual([1_000, 2_000, 4_000]);
    expect([0, 0.999].map((random) => Math.round(retryDelayMs(0, undefined, policy(random))))).toEqual([750, 1_250]);
  });

  it('waits as long as Retry-After demands, never less, up to the cap', () => {
    expect(retryDelayMs(0, 2, policy(0))).toBe(2_000);
    expect(retryDelayMs(3, 2, policy(0.5))).toBe(2_100);
    expect(retryDelayMs(0, 86_400, policy(0))).toBe(20_000);
  });
});
