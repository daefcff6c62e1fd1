import { describe, expect, it } from '@jest/globals';

import { FrameBudget } from './frame-budget.js';

const count = (budget: FrameBudget, now: number) => {
  let taken = 0;
  while (budget.take(now)) taken += 1;
  return taken;
};

describe('the budget of a socket', () => {
  it('allows a burst, then as many as time gives back', () => {
    const budget = new FrameBudget(0, 20);
    const taken = (now: number) => count(budget, now);
    expect(taken(0)).toBe(200);
    expect(taken(1_000)).toBe(50);
    expect(taken(1_010)).toBe(0);
    expect(taken(1_000_000)).toBe(200);
  });

  it('grows with the streams that a principal may have', () => {
    expect(count(new FrameBudget(0, 500), 0)).toBe(2_000);
  });
});
