import { describe, expect, it } from '@jest/globals';

import { BodyBudget } from './body-budget.js';

const limits = { totalBytes: 100, bytesPerCaller: 60, bodiesPerCaller: 2 };

describe('BodyBudget', () => {
  it('rejects bytes over the share of one caller without affecting another caller', () => {
    const budget = new BodyBudget(limits);
    const body = budget.open('a');
    body.take(60);
    expect(() => {
      body.take(1);
    }).toThrow(expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 1 }));
    budget.open('b').take(40);
  });

  it('rejects bytes of every caller over the limit of the process', () => {
    const budget = new BodyBudget(limits);
    budget.open('a').take(60);
    const body = budget.open('b');
    expect(() => {
      body.take(41);
    }).toThrow(expect.objectContaining({ code: 'unavailable' }));
  });

  it('rejects more concurrent bodies than one caller may send', () => {
    const budget = new BodyBudget(limits);
    budget.open('a');
    budget.open('a');
    expect(() => budget.open('a')).toThrow(expect.objectContaining({ code: 'rate_limited' }));
  });

  it('forgets a caller when the last body is released', () => {
    const budget = new BodyBudget(limits);
    const [one, other] = [budget.open('a'), budget.open('a')];
    one.take(60);
    one.release();
    other.take(60);
    other.release();
    expect(budget.size).toBe(0);
  });
});
