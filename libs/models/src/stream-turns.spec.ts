import { describe, expect, it } from '@jest/globals';

import { StreamTurns } from './stream-turns.js';

/** Turns in which each slice takes 1 ms. */
function newTurns(): StreamTurns {
  let now = 0;
  return new StreamTurns({ monotonic: () => now++ });
}

/** Does `count` slices of work; each calls `onSlice`. */
async function work(turns: StreamTurns, count: number, onSlice: () => void): Promise<void> {
  let left = count;
  const slice = () => {
    left -= 1;
    onSlice();
    return left > 0;
  };
  while (left > 0) await turns.run(slice);
}

describe('StreamTurns', () => {
  it('lets a stream with little work continue at once', () => {
    const turns = newTurns();
    expect(turns.run(() => false)).toBeUndefined();
    expect(turns.run(() => false)).toBeUndefined();
  });

  it('lets other work of the process run between the slices of several streams', async () => {
    const turns = newTurns();
    let slices = 0;
    const before: number[] = [];
    const look = () => {
      before.push(slices);
      if (slices < 60) setImmediate(look);
    };
    setImmediate(look);
    const count = () => {
      slices += 1;
    };
    await Promise.all([work(turns, 20, count), work(turns, 20, count), work(turns, 20, count)]);

    const atOnce = before.map((at, turn) => at - (before[turn - 1] ?? 0));
    expect(Math.max(...atOnce)).toBe(5);
  });

  it('gives equal shares to streams that wait', async () => {
    const turns = newTurns();
    const order: string[] = [];
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    await Promise.all(names.map(async (name) => work(turns, name === 'a' ? 12 : 3, () => order.push(name))));

    // The first stream has the time of the first turn to itself.
    const shares = order.slice(5, 5 + 3 * names.length);
    for (let i = 0; i < shares.length; i += names.length)
      expect(shares.slice(i, i + names.length).sort()).toEqual(names);
    expect(order).toHaveLength(30);
  });
});
