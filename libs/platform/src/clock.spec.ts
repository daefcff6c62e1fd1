import { describe, expect, it, jest } from '@jest/globals';

import { ManualClock, systemClock } from './clock.js';

describe('systemClock', () => {
  it('waits for delays beyond the maximum of a timer', () => {
    jest.useFakeTimers();
    try {
      const run = jest.fn();
      const days = 86_400_000;
      systemClock.after(60 * days, run);
      jest.advanceTimersByTime(59 * days);
      expect(run).not.toHaveBeenCalled();
      jest.advanceTimersByTime(2 * days);
      expect(run).toHaveBeenCalledTimes(1);
    } finally {
      jest.useRealTimers();
    }
  });

  it('runs at once, without a warning of Node, if the time has passed', async () => {
    const warnings: string[] = [];
    const listen = ({ name }: Error) => void warnings.push(name);
    process.on('warning', listen);
    await new Promise<void>((resolve) => void systemClock.after(-2_614.65, resolve));
    await new Promise(setImmediate); // Node emits a warning in the next tick
    process.off('warning', listen);
    expect(warnings).not.toContain('TimeoutNegativeWarning');
  });
});

describe('ManualClock', () => {
  it('runs due timers in the order of their instants, including timers that were added meanwhile', () => {
    const clock = new ManualClock(0);
    const seen: string[] = [];
    clock.after(20, () => seen.push('twenty'));
    clock.after(10, () => {
      seen.push('ten');
      clock.after(5, () => seen.push('fifteen'));
    });
    clock.after(15, () => seen.push('cancelled')).cancel();
    clock.advance(30);
    expect(seen).toEqual(['ten', 'fifteen', 'twenty']);
    expect(clock.pending).toBe(0);
  });
});
