import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { WaitingWrites } from './waiting-writes.js';

function scene() {
  const clock = new ManualClock();
  const waiting = new WaitingWrites(clock, 25);
  const gone: string[] = [];
  const wait = (name: string, ms: number) =>
    waiting.later(ms, () => {
      gone.push(name);
    });
  return { clock, waiting, gone, wait };
}

describe('a write that waits for company', () => {
  it('goes alone when its time has come and no batch has left', () => {
    const { clock, waiting, gone, wait } = scene();
    wait('a', 100);
    clock.advance(74);
    waiting.board();
    clock.advance(25);
    expect(gone).toEqual([]);
    clock.advance(1);
    expect(gone).toEqual(['a']);
  });

  it('goes once, with a batch that leaves shortly before', () => {
    const { clock, waiting, gone, wait } = scene();
    wait('soon', 100);
    wait('later', 150);
    clock.advance(75);
    waiting.board();
    expect(gone).toEqual(['soon']);
    clock.advance(25);
    expect(gone).toEqual(['soon']);
    expect(clock.pending).toBe(1);
  });

  it('goes never once it is cancelled', () => {
    const { clock, waiting, gone, wait } = scene();
    wait('a', 10).cancel();
    waiting.board();
    clock.advance(100);
    expect([gone, clock.pending]).toEqual([[], 0]);
  });
});
