import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ManualClock } from '../clock.js';
import { AppError } from '../errors/app-error.js';
import type { RateCounter } from './rate-counter.js';
import { SharedRate } from './shared-rate.js';

const windowMs = 60_000;

/** What the table does, in memory. */
class TestCounter implements RateCounter {
  asked = 0;
  private readonly windows = new Map<string, { used: number; endsAt: number }>();

  constructor(private readonly clock: ManualClock) {}

  add(key: string, points: number): Promise<{ used: number; msLeft: number }> {
    this.asked += 1;
    const now = this.clock.monotonic();
    const known = this.windows.get(key);
    const window = known === undefined || known.endsAt <= now ? { used: 0, endsAt: now + windowMs } : known;
    window.used += points;
    this.windows.set(key, window);
    return Promise.resolve({ used: window.used, msLeft: window.endsAt - now });
  }
}

const rateOf = (value: number) => ({ name: 'TEST', value, raisedBy: 'operator', counts: 'calls' }) as const;

function open(limit: number, processes = 1) {
  const clock = new ManualClock(0);
  const counter = new TestCounter(clock);
  const rates = Array.from({ length: processes }, () => new SharedRate(counter, rateOf(limit), clock));
  const [rate] = rates;
  if (rate === undefined) throw new Error('at least one process');
  return { clock, counter, rates, rate };
}

async function takeAll(rate: SharedRate, key: string, most = 10_000): Promise<number> {
  const ends = await Promise.allSettled(Array.from({ length: most }, () => rate.take(key)));
  for (const end of ends) if (end.status === 'rejected' && !(end.reason instanceof AppError)) throw end.reason;
  return ends.filter(({ status }) => status === 'fulfilled').length;
}

describe('SharedRate', () => {
  it('allows calls up to the limit and then returns the time until the next one', async () => {
    const { rate } = open(3);
    expect(await rate.take('a')).toEqual({ limit: 3, remaining: 2, retryAfterSeconds: 0 });
    expect(await takeAll(rate, 'a', 10)).toBe(2);
    await expect(rate.take('a')).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 60 });
    expect(rate.peek('a')).toEqual({ limit: 3, remaining: 0, retryAfterSeconds: 60 });
  });

  it('counts each key separately', async () => {
    const { rate } = open(1);
    await rate.take('a');
    expect((await rate.take('b')).remaining).toBe(0);
  });

  it('never allows more than the limit in a window for any number of concurrent processes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 90 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.nat({ max: 40_000 }), { minLength: 1, maxLength: 8 }),
        async (limit, processes, pauses) => {
          const { clock, rates } = open(limit, processes);
          let taken = 0;
          for (const pause of pauses) {
            taken += (await Promise.all(rates.map((rate) => takeAll(rate, 'a', 50)))).reduce((sum, n) => sum + n, 0);
            clock.advance(pause);
          }
          expect(taken).toBeLessThanOrEqual(limit * (Math.floor(clock.monotonic() / windowMs) + 1));
        },
      ),
    );
  });

  it('allows all of a small limit in any process', async () => {
    const { rates } = open(10, 3);
    const taken = await Promise.all(rates.map((rate) => takeAll(rate, 'a', 10)));
    expect(taken.reduce((sum, n) => sum + n, 0)).toBe(10);
  });

  it('makes one reservation for many calls of a large limit', async () => {
    const { rate, counter } = open(600);
    for (let i = 0; i < 600; i++) await rate.take('a');
    await expect(rate.take('a')).rejects.toMatchObject({ code: 'rate_limited' });
    expect(counter.asked).toBe(20);
  });

  it('allows a start after the returned time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 50 }), fc.nat({ max: 200_000 }), async (limit, pause) => {
        const { clock, rate } = open(limit);
        await takeAll(rate, 'a', 60);
        clock.advance(pause);
        await takeAll(rate, 'a', 60);
        clock.advance(rate.peek('a').retryAfterSeconds * 1_000);
        expect(await takeAll(rate, 'a', 1)).toBe(1);
      }),
    );
  });

  it('refunds the start of a replayed request', async () => {
    const { rate } = open(1);
    await rate.take('a');
    expect(rate.giveBack('a').remaining).toBe(1);
    expect((await rate.take('a')).remaining).toBe(0);
  });

  it('caches a bounded number of keys', async () => {
    const { rate } = open(5);
    for (let i = 0; i < 10_050; i++) await rate.take(`k${i}`);
    expect(rate.size).toBe(10_000);
  });
});
