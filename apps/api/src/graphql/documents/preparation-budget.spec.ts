import { beforeEach, describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { PreparationBudget } from './preparation-budget.js';

/** A clock whose timers do not fire while the process works. */
class BusyClock extends ManualClock {
  private workedMs = 0;

  work(ms: number): void {
    this.workedMs += ms;
  }

  override monotonic(): number {
    return super.monotonic() + this.workedMs;
  }
}

let clock: BusyClock;
let budget: PreparationBudget;
let done: string[];

beforeEach(() => {
  clock = new BusyClock();
  budget = new PreparationBudget(clock);
  done = [];
});

/** Work that takes `ms` of the process. */
const work = (name: string, ms: number) => () => {
  clock.work(ms);
  done.push(name);
  return name;
};

describe('PreparationBudget', () => {
  it("runs work at once for the first 100 ms of a user, then as the user's time refills", async () => {
    const results = [1, 2, 3, 4].map((i) => budget.run('a', work(`a${i}`, 60)));
    clock.advance(1);
    expect(done).toEqual(['a1', 'a2']);
    clock.advance(210);
    expect(await results[2]).toBe('a3');
    expect(done).toEqual(['a1', 'a2', 'a3']);
    clock.advance(700);
    await results[3];
    expect(done).toEqual(['a1', 'a2', 'a3', 'a4']);
  });

  it('runs the work of other users while one user waits', () => {
    for (let i = 0; i < 4; i += 1) void budget.run('a', work('a', 60));
    clock.advance(1);
    expect(budget.run('b', work('b', 1))).toBe('b');
    expect(done).toEqual(['a', 'a', 'b']);
  });

  it('lets requests of other users run after each 50 ms of one user', () => {
    for (let i = 0; i < 4; i += 1) void budget.run('a', work('a', 26));
    expect(budget.run('b', work('b', 1))).toBe('b');
    expect(done).toEqual(['a', 'a', 'b']);
    clock.advance(1);
    expect(done).toEqual(['a', 'a', 'b', 'a', 'a']);
  });

  it('grants an overdraft of half a second beyond the burst, and more once the time is paid back', () => {
    budget.charge('a', work('a', 599));
    expect(budget.mayOverdraw('a')).toBe(true);
    budget.charge('a', work('a', 100));
    expect(budget.mayOverdraw('a')).toBe(false);
    clock.advance(1_000);
    expect(budget.mayOverdraw('a')).toBe(true);
  });

  it('does not charge for work that takes no time', () => {
    for (let i = 0; i < 10_000; i += 1) void budget.run('a', work('a', 0));
    expect(done).toHaveLength(10_000);
  });

  it('rejects a 51st waiting request of one user', async () => {
    for (let i = 0; i < 51; i += 1) void budget.run('a', work('a', 60));
    await expect(budget.run('a', work('a', 60))).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('charges work that fails', async () => {
    const fail = () => {
      clock.advance(120);
      throw new Error('broken');
    };
    expect(() => budget.run('a', fail)).toThrow('broken');
    const next = budget.run('a', work('a', 1));
    expect(done).toEqual([]);
    clock.advance(300);
    expect(await next).toBe('a');
  });
});
