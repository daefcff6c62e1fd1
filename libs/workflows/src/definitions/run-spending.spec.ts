import { describe, expect, it } from '@jest/globals';

import { RunSpending } from './run-spending.js';

const used = (model: string, promptTokens: number, completionTokens = 0) => ({ model, promptTokens, completionTokens });

describe('RunSpending', () => {
  it('adds the spending of descendant jobs, which are read again as a whole', () => {
    const spending = new RunSpending([
      { model: 'dear', promptUsd: 2, completionUsd: 10 },
      { model: 'cheap/*', promptUsd: 1, completionUsd: 1 },
    ]);
    spending.load([used('dear', 1_000_000, 100_000)], [used('cheap/a', 500_000), used('unknown', 7)]);
    expect([spending.usd, spending.descendantsTokens]).toEqual([3.5, 500_007]);
    expect(spending.add(used('cheap/b', 250_000))).toBe(true);
    expect(spending.add(used('unknown', 250_000))).toBe(false);
    spending.loadDescendants([used('cheap/a', 1_000_000)]);
    expect([spending.usd, spending.descendantsTokens]).toEqual([4.25, 1_000_000]);
  });

  it('looks up prices when usage is added, and not when the total is read', () => {
    let looks = 0;
    const price = {
      get model() {
        looks += 1;
        return 'dear';
      },
      ...{ promptUsd: 1, completionUsd: 1 },
    };
    const spending = new RunSpending([price]);
    for (let round = 0; round < 3; round += 1) spending.add(used('dear', 1_000_000));
    const heard = looks;
    expect([spending.usd, spending.usd]).toEqual([3, 3]);
    expect(looks).toBe(heard);
  });
});
