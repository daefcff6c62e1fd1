import { describe, expect, it } from '@jest/globals';

import { awakeTimeout } from './awake-timeout.js';
import { type Clock, ManualClock } from './clock.js';

describe('awakeTimeout', () => {
  it('fires after its time, once', () => {
    const clock = new ManualClock();
    let over = 0;
    awakeTimeout(clock, 30_000, () => (over += 1));
    clock.advance(29_999);
    expect(over).toBe(0);
    clock.advance(60_000);
    expect([over, clock.pending]).toEqual([1, 0]);
  });

  it('grants a suspended process more time when its due timers fire together', () => {
    // As a runtime does it that was stopped: what is due runs in one turn, what is asked for then runs later.
    const due: (() => void)[] = [];
    const stopped: Clock = {
      now: () => 0,
      monotonic: () => 0,
      after: (_, run) => {
        due.push(run);
        return { cancel: () => undefined };
      },
    };
    let isOver = false;
    awakeTimeout(stopped, 300, () => (isOver = true));
    for (let turn = 1; turn <= 10; turn++) {
      expect(isOver).toBe(false);
      for (const run of due.splice(0)) run();
    }
    expect(isOver).toBe(true);
  });

  it('ends when it is cancelled in any of its slices', () => {
    const clock = new ManualClock();
    const timer = awakeTimeout(clock, 1_000, () => {
      throw new Error('it was cancelled');
    });
    clock.advance(550);
    timer.cancel();
    clock.advance(1_000);
    expect(clock.pending).toBe(0);
  });
});
