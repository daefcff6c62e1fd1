import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '../../clock.js';
import { ReadTurns } from './read-turns.js';

describe('ReadTurns', () => {
  const open = () => {
    const clock = new ManualClock();
    const turns = new ReadTurns(clock);
    const read: string[] = [];
    const wait = (caller: string, name: string) => turns.next(caller, () => read.push(name));
    return { clock, turns, read, wait };
  };

  it('reads one part at a time, with a pause after each', () => {
    const { clock, read, wait } = open();
    wait('a', '1');
    wait('a', '2');
    expect(read).toEqual([]);
    clock.advance(1);
    expect(read).toEqual(['1']);
    clock.advance(1);
    expect(read).toEqual(['1', '2']);
  });

  it('gives callers their turns alternately, however many bodies one of them sends', () => {
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

  it('forgets a body that is withdrawn, and a caller without bodies', () => {
    const { clock, turns, read, wait } = open();
    const withdraw = wait('gone', 'gone');
    wait('stays', 'stays');
    withdraw();
    expect(turns.size).toBe(1);
    clock.advance(1);
    expect(read).toEqual(['stays']);
    withdraw();
    expect(turns.size).toBe(0);
  });

  it('keeps the pause between the parts of one body', () => {
    const { clock, turns, read } = open();
    const piece = () => {
      read.push('piece');
      turns.next('a', piece);
    };
    turns.next('a', piece);
    clock.advance(5);
    expect(read).toHaveLength(5);
  });
});
