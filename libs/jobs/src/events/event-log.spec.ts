import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { WaitingWrites } from './event-log.js';

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

describe('WaitingWrites', () => {
  it('calls the write when its time has come if no batch was sent', () => {
    const { clock, waiting, gone, wait } = scene();
    wait('a', 100);
    clock.advance(74);
    waiting.flushDue();
    clock.advance(25);
    expect(gone).toEqual([]);
    clock.advance(1);
    expect(gone).toEqual(['a']);
  });

  it('calls the write once, with a batch that is sent shortly before its time', () => {
    const { clock, waiting, gone, wait } = scene();
    wait('soon', 100);
    wait('later', 150);
    clock.advance(75);
    waiting.flushDue();
    expect(gone).toEqual(['soon']);
    clock.advance(25);
    expect(gone).toEqual(['soon']);
    expect(clock.pending).toBe(1);
  });

  it('does not call a cancelled write', () => {
    const { clock, waiting, gone, wait } = scene();
    wait('a', 10).cancel();
    waiting.flushDue();
    clock.advance(100);
    expect([gone, clock.pending]).toEqual([[], 0]);
  });
});
