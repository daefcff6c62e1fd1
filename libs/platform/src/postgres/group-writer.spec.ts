import { describe, expect, it } from '@jest/globals';

import { ManualClock, systemClock } from '../clock.js';
import { GroupWriter } from './group-writer.js';

const options = { tickMs: 0, maxBatch: 100 };

describe('GroupWriter', () => {
  it('writes the items of one turn of the event loop as one batch', async () => {
    const batches: number[][] = [];
    const writer = new GroupWriter<number, number>(
      (items) => {
        batches.push([...items]);
        return Promise.resolve(items.map((item) => item * 2));
      },
      systemClock,
      options,
    );
    expect(await Promise.all([1, 2, 3].map((n) => writer.submit(n)))).toEqual([2, 4, 6]);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  it('writes items that arrive during a write in the next batch', async () => {
    const batches: number[][] = [];
    const gates: (() => void)[] = [];
    const writer = new GroupWriter<number, number>(
      async (items) => {
        batches.push([...items]);
        await new Promise<void>((open) => gates.push(open));
        return items;
      },
      systemClock,
      options,
    );
    const finishBatch = async () => {
      while (gates.length === 0) await new Promise(setImmediate);
      gates.shift()?.();
    };
    const first = writer.submit(1);
    while (batches.length === 0) await new Promise(setImmediate);
    const rest = [2, 3].map((n) => writer.submit(n));
    await finishBatch();
    await first;
    await finishBatch();
    await Promise.all(rest);
    await writer.drain();
    expect(batches).toEqual([[1], [2, 3]]);
    expect(writer.busy).toBe(false);
  });

  it('waits for more items only right after a write', async () => {
    const clock = new ManualClock();
    const batches: number[][] = [];
    const writer = new GroupWriter<number, number>(
      (items) => {
        batches.push([...items]);
        return Promise.resolve(items);
      },
      clock,
      { tickMs: 2, maxBatch: 100 },
    );
    await writer.submit(1);
    const next = [writer.submit(2)];
    clock.advance(1);
    next.push(writer.submit(3));
    await new Promise(setImmediate);
    expect(batches).toEqual([[1]]);
    clock.advance(1);
    await Promise.all(next);
    clock.advance(2);
    await writer.submit(4);
    expect(batches).toEqual([[1], [2, 3], [4]]);
  });

  it('rejects only the caller whose item failed', async () => {
    const writer = new GroupWriter<number, number>(
      (items) => Promise.resolve(items.map((item) => (item === 2 ? new Error('fenced') : item))),
      systemClock,
      options,
    );
    const results = await Promise.allSettled([1, 2, 3].map((n) => writer.submit(n)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('rejects every caller of a batch that could not be written, and writes the next one', async () => {
    let broken = true;
    const writer = new GroupWriter<number, number>(
      (items) => (broken ? Promise.reject(new Error('no connection')) : Promise.resolve(items)),
      systemClock,
      options,
    );
    await expect(writer.submit(1)).rejects.toThrow('no connection');
    broken = false;
    await expect(writer.submit(2)).resolves.toBe(2);
  });

  it('rejects every caller of a batch whose onBatchStart throws, and writes the next one', async () => {
    let broken = true;
    const onBatchStart = () => {
      if (broken) throw new Error('no due writes');
    };
    const writer = new GroupWriter<number, number>((items) => Promise.resolve(items), systemClock, {
      ...options,
      onBatchStart,
    });
    const results = await Promise.allSettled([writer.submit(1), writer.submit(2), writer.drain()]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(writer.busy).toBe(false);
    broken = false;
    await expect(writer.submit(3)).resolves.toBe(3);
  });
});
