import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { BackOff, type BackOffOptions } from './back-off.js';

const terms: BackOffOptions = { firstDelayMs: 1, maxDelayMs: 10 };

interface DelayRecorder {
  readonly backOff: BackOff;
  /** The delays of its next attempts, in ms. */
  readonly nextDelays: (count: number) => Promise<number[]>;
}

function recordDelays(options: BackOffOptions, random: () => number): DelayRecorder {
  let delays: number[] = [];
  const onWait = (_error: unknown, delayMs: number) => delays.push(delayMs);
  const backOff = new BackOff({ ...options, onWait }, random);
  const nextDelays = async (count: number) => {
    delays = [];
    for (let n = 0; n < count; n += 1) await backOff.next(new Error('down'));
    return delays;
  };
  return { backOff, nextDelays };
}

describe('BackOff', () => {
  it('waits twice as long each time, up to a limit', async () => {
    expect(await recordDelays(terms, () => 1).nextDelays(6)).toEqual([1, 2, 4, 8, 10, 10]);
  });

  it('randomizes each delay, down to half of it', async () => {
    expect(await recordDelays(terms, () => 0).nextDelays(3)).toEqual([0.5, 1, 2]);
  });

  it('resets the delay after a success', async () => {
    const { backOff, nextDelays } = recordDelays(terms, () => 1);
    await nextDelays(3);
    backOff.succeed();
    expect(await nextDelays(1)).toEqual([1]);
  });

  it('waits as long as the server requests', async () => {
    const delays: number[] = [];
    const backOff = new BackOff({ ...terms, onWait: (_error, delayMs) => delays.push(delayMs) });
    await backOff.next(new Error('busy'), { atLeastMs: 20 });
    expect(delays).toEqual([20]);
  });

  it('gives up with the last error', async () => {
    const { backOff, nextDelays } = recordDelays({ ...terms, attempts: 3 }, () => 1);
    await nextDelays(2);
    await expect(backOff.next(new Error('still down'))).rejects.toThrow('still down');
  });

  // Other code in the process may set timers, too, so these tests never run all timers.
  describe('with fake timers', () => {
    beforeEach(() => {
      jest.useFakeTimers();
    });
    afterEach(() => {
      jest.useRealTimers();
    });

    it.each<[string, number, { random: number; atLeastMs?: number }]>([
      ['the delay', 100, { random: 1 }],
      ['the random part of the delay', 50, { random: 0 }],
      ['the time that the server requests', 5_000, { random: 1, atLeastMs: 5_000 }],
    ])('resolves after %s, and not before', async (_name, delayMs, { random, ...options }) => {
      const before = jest.getTimerCount();
      const waiting = new BackOff({ firstDelayMs: 100 }, () => random).next(new Error('down'), options);
      jest.advanceTimersByTime(delayMs - 1);
      expect(jest.getTimerCount()).toBe(before + 1);
      jest.advanceTimersByTime(1);
      expect(jest.getTimerCount()).toBe(before);
      await waiting;
    });

    it('stops waiting when it is aborted, and leaves no timer', async () => {
      const controller = new AbortController();
      const { signal } = controller;
      const before = jest.getTimerCount();
      const waiting = new BackOff(terms).next(new Error('down'), { signal });
      controller.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
      await expect(new BackOff(terms).next(new Error('down'), { signal })).rejects.toThrow('enough');
      expect(jest.getTimerCount()).toBe(before);
    });
  });
});
