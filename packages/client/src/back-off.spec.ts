import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { BackOff, type BackOffOptions } from './back-off.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** How long it waits the next times. */
async function waits(backOff: BackOff, count: number): Promise<number[]> {
  const seen: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const began = Date.now();
    const waiting = backOff.next(new Error('down'));
    await jest.runAllTimersAsync();
    await waiting;
    seen.push(Date.now() - began);
  }
  return seen;
}

const terms: BackOffOptions = { firstDelayMs: 100, maxDelayMs: 1_000 };

describe('BackOff', () => {
  it('waits twice as long each time, up to a limit', async () => {
    expect(await waits(new BackOff(terms, () => 1), 6)).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it('waits a random time of at least half of that', async () => {
    expect(await waits(new BackOff(terms, () => 0), 3)).toEqual([50, 100, 200]);
  });

  it('begins again after a success', async () => {
    const backOff = new BackOff(terms, () => 1);
    await waits(backOff, 3);
    backOff.succeed();
    expect(await waits(backOff, 1)).toEqual([100]);
  });

  it('waits as long as the server requests', async () => {
    const began = Date.now();
    const waiting = new BackOff(terms).next(new Error('busy'), { atLeastMs: 5_000 });
    await jest.runAllTimersAsync();
    await waiting;
    expect(Date.now() - began).toBe(5_000);
  });

  it('gives up with the last error', async () => {
    const backOff = new BackOff({ ...terms, attempts: 3 });
    await waits(backOff, 2);
    await expect(backOff.next(new Error('still down'))).rejects.toThrow('still down');
  });

  it('stops waiting when it is aborted, and leaves no timer', async () => {
    const controller = new AbortController();
    const waiting = new BackOff(terms).next(new Error('down'), { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(new BackOff(terms).next(new Error('down'), { signal: controller.signal })).rejects.toThrow('enough');
    expect(jest.getTimerCount()).toBe(0);
  });
});
