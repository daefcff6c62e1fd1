import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ManualClock } from './clock.js';
import { type Lease, Leases } from './leases.js';
import { createLogger } from './logger.js';

const leaseMs = 30_000;

describe('Leases', () => {
  let clock: ManualClock;
  let leases: Leases<string, string>;
  /** The ids that the renewal returns; an error: the database is unavailable. */
  let owned: readonly string[] | Error;
  let asked: string[][];
  let lost: [string, string][];
  let held: Record<'a' | 'b', Lease>;

  beforeEach(() => {
    clock = new ManualClock();
    [owned, asked, lost] = [['a', 'b'], [], []];
    leases = new Leases({
      ...{ leaseMs, clock, logger: createLogger({ level: 'silent' }) },
      idOf: (id) => id,
      renew: (ids) => {
        asked.push([...ids]);
        return owned instanceof Error ? Promise.reject(owned) : Promise.resolve(new Map(owned.map((id) => [id, id])));
      },
      onLost: (id, why) => lost.push([id, why]),
    });
    held = { a: leases.add('a', clock.monotonic()), b: leases.add('b', clock.monotonic()) };
  });

  afterEach(() => {
    for (const lease of Object.values(held)) lease.release();
    expect(clock.pending).toBe(0);
  });

  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };

  it('renews all leases together, every third of a lease', async () => {
    for (let third = 1; third <= 6; third++) await pass(leaseMs / 3);
    expect(asked).toEqual(Array.from({ length: 6 }, () => ['a', 'b']));
    expect([held.a.isValid(), lost]).toEqual([true, []]);
  });

  it('loses a lease that the renewal no longer returns', async () => {
    owned = ['b'];
    await pass(leaseMs / 3);
    expect([lost, held.a.isValid(), held.b.isValid()]).toEqual([[['a', 'withdrawn']], false, true]);
  });

  it('loses every lease before it expires when the database does not respond', async () => {
    owned = new Error('no connection');
    await pass(leaseMs / 3);
    expect(lost).toEqual([]);
    await pass(leaseMs / 3);
    expect(lost).toEqual([
      ['a', 'not renewed'],
      ['b', 'not renewed'],
    ]);
  });

  it('reports an expired lease as invalid before any timer fires', () => {
    const late = leases.add('c', clock.monotonic() - leaseMs);
    expect(late.isValid()).toBe(false);
    late.release();
  });

  it('renews at once the leases that a hint names', async () => {
    owned = ['b'];
    await leases.ask((id) => id === 'a');
    expect([asked, lost]).toEqual([[['a']], [['a', 'withdrawn']]]);
  });

  it('does not lose a lease that is released while it is renewed', async () => {
    owned = [];
    const asking = leases.ask(() => true);
    held.a.release();
    await asking;
    expect(lost).toEqual([['b', 'withdrawn']]);
  });

  it('replaces the lease of an earlier claim, and keeps the new lease when the old one is released', () => {
    const again = leases.add('a', clock.monotonic());
    expect([held.a.isValid(), again.isValid()]).toEqual([false, true]);
    held.a.release();
    expect([again.isValid(), leases.find('a')]).toEqual([true, 'a']);
    again.release();
  });
});
