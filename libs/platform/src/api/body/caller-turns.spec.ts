import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '../../clock.js';
import { CallerTurns } from './caller-turns.js';

describe('CallerTurns', () => {
  const open = () => {
    const clock = new ManualClock();
    const turns = new CallerTurns(clock);
    const read: string[] = [];
    const wait = (caller: string, name: string, costMs = 0.1) => turns.next(caller, costMs, () => read.push(name));
    return { clock, turns, read, wait };
  };

  it('runs one turn at a time, with a pause after each', () => {
    const { clock, read, wait } = open();
    wait('a', '1');
    wait('a', '2');
    expect(read).toEqual([]);
    clock.advance(1);
    expect(read).toEqual(['1']);
    clock.advance(1);
    expect(read).toEqual(['1', '2']);
  });

  it('alternates between callers, for any number of waiting turns', () => {
    const { clock, turns, read, wait } = open();
    for (let i = 1; i <= 100; i++) wait('many', `many ${i}`);
    wait('one', 'one');
    clock.advance(2);
    expect(read).toEqual(['many 1', 'one']);
    clock.advance(98);
    expect(read).toHaveLength(100);
    expect(turns.size).toBe(1);
    clock.advance(1);
    expect(turns.size).toBe(0);
  });

  it('limits a caller to a tenth of the time after a burst of 50 ms, and does not delay others', () => {
    const { clock, turns, read, wait } = open();
    for (let i = 1; i <= 100; i++) wait('many', 'many', 10);
    clock.advance(6);
    expect(read).toHaveLength(6);
    clock.advance(90);
    expect(read).toHaveLength(6);
    wait('one', 'one', 10);
    clock.advance(1);
    expect(read.slice(6)).toEqual(['one']);
    clock.advance(1_000);
    expect(read.slice(7)).toEqual(Array.from({ length: 10 }, () => 'many'));
    expect(turns.size).toBe(1);
  });

  it('grants turns at once until the share of a caller is used, and again when it is due', () => {
    const { clock, turns } = open();
    const taken = () => turns.takeNow('a', 30);
    expect([taken(), taken(), taken()]).toEqual([true, true, false]);
    expect(turns.takeNow('b', 30)).toBe(true);
    clock.advance(100);
    expect([taken(), taken()]).toEqual([true, false]);
  });

  it('grants no immediate turn to a caller that already waits for one', () => {
    const { clock, turns, wait } = open();
    wait('a', '1');
    expect(turns.takeNow('a', 0.1)).toBe(false);
    clock.advance(1);
    expect(turns.takeNow('a', 0.1)).toBe(true);
  });

  it('removes withdrawn turns, callers without turns and expired work', () => {
    const { clock, turns, read, wait } = open();
    const withdraw = wait('gone', 'gone');
    wait('stays', 'stays');
    withdraw();
    expect(turns.size).toBe(1);
    clock.advance(1);
    expect(read).toEqual(['stays']);
    withdraw();
    expect(turns.size).toBe(0);
    for (let i = 0; i < 1_000; i++) turns.takeNow(`caller ${i}`, 1);
    clock.advance(10);
    turns.takeNow('last', 1);
    expect([turns.remembered, clock.pending]).toEqual([1, 0]);
  });

  it('removes expired work behind a caller whose work is not paid for a long time', () => {
    const { clock, turns } = open();
    turns.takeNow('large', 100_000);
    for (let i = 0; i < 1_000; i++) {
      turns.takeNow(`caller ${i}`, 1);
      clock.advance(10);
    }
    expect(turns.remembered).toBe(2);
  });

  it('keeps the pause between the parts of one body', () => {
    const { clock, turns, read } = open();
    const piece = () => {
      read.push('piece');
      turns.next('a', 0.1, piece);
    };
    turns.next('a', 0.1, piece);
    clock.advance(5);
    expect(read).toHaveLength(5);
  });
});
