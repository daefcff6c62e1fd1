import { describe, expect, it } from '@jest/globals';

import { ManualClock } from './clock.js';
import { TimedCache } from './timed-cache.js';

function arrange(max = 100) {
  const clock = new ManualClock();
  let loads = 0;
  const load = () => Promise.resolve(++loads);
  return { clock, cache: new TimedCache<number>({ clock, ttlMs: 1_000, max }), load };
}

describe('TimedCache', () => {
  it('caches a value for its time to live and no longer', async () => {
    const { clock, cache, load } = arrange();
    expect(await cache.get('a', load)).toBe(1);
    clock.advance(999);
    expect(await cache.get('a', load)).toBe(1);
    clock.advance(1);
    expect(await cache.get('a', load)).toBe(2);
  });

  it('expires a value that is still in use', async () => {
    const { clock, cache, load } = arrange();
    for (let i = 0; i < 3; i++) {
      await cache.get('a', load);
      clock.advance(400);
    }
    expect(await cache.get('a', load)).toBe(2);
  });

  it('shares one load between concurrent callers', async () => {
    const { cache, load } = arrange();
    expect(await Promise.all([cache.get('a', load), cache.get('a', load)])).toEqual([1, 1]);
  });

  it('does not cache a failure', async () => {
    const { cache, load } = arrange();
    await expect(cache.get('a', () => Promise.reject(new Error('down')))).rejects.toThrow('down');
    expect(await cache.get('a', load)).toBe(1);
  });

  it('evicts the least recently used value beyond its capacity', async () => {
    const { cache, load } = arrange(2);
    await cache.get('a', load);
    await cache.get('b', load);
    await cache.get('a', load);
    await cache.get('c', load);
    expect(cache.size).toBe(2);
    expect(await cache.get('a', load)).toBe(1);
    expect(await cache.get('b', load)).toBe(4);
  });

  it('removes one value and keeps the others', async () => {
    const { cache, load } = arrange();
    await cache.get('a', load);
    await cache.get('b', load);
    cache.forget('a');
    expect([await cache.get('a', load), await cache.get('b', load)]).toEqual([3, 2]);
  });

  it('never returns a value whose load began before a clear', async () => {
    const { cache, load } = arrange();
    let finish: (value: number) => void = () => undefined;
    const early = cache.get('a', () => new Promise<number>((resolve) => (finish = resolve)));
    cache.clear();
    const late = cache.get('a', load);
    finish(-1);
    expect(await early).toBe(-1);
    expect(await late).toBe(1);
    expect(await cache.get('a', load)).toBe(1);
  });
});
