import { describe, expect, it } from '@jest/globals';

import { ResultSlots } from './result-slots.js';

describe('ResultSlots', () => {
  it('runs at most four operations at a time, in order', async () => {
    const slots = new ResultSlots();
    const started: number[] = [];
    const all = Array.from({ length: 10 }, (_, i) => slots.acquire().then(() => started.push(i)));
    await Promise.all(all.slice(0, 4));
    expect(started).toEqual([0, 1, 2, 3]);
    slots.release();
    await all[4];
    expect(started).toEqual([0, 1, 2, 3, 4]);
    for (let i = 0; i < 5; i += 1) slots.release();
    await Promise.all(all);
    expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('runs no operation that waits or arrives when the connection closes', async () => {
    const slots = new ResultSlots();
    const acquired = Array.from({ length: 6 }, () => slots.acquire());
    slots.close();
    slots.release();
    expect(await Promise.all([...acquired, slots.acquire()])).toEqual([true, true, true, true, false, false, false]);
  });
});
