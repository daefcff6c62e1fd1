import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { StopRequest } from './stop-request.js';

describe('StopRequest', () => {
  it('stops at the first signal, skips the drain at the second, and exits at the third', () => {
    const clock = new ManualClock();
    const stop = new StopRequest(clock);
    const answers = Array.from({ length: 3 }, () => {
      clock.advance(1_000);
      return stop.onSignal();
    });

    expect(answers).toEqual(['stop', 'hurry', 'exit']);
    expect(stop.failure).toBeUndefined();
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('ignores a %s that npm passes on a second time', (signal) => {
    const clock = new ManualClock();
    const stop = new StopRequest(clock);
    stop.onSignal(signal);
    clock.advance(5);

    expect(stop.onSignal(signal)).toBe('echo');
    expect(stop.hurrySignal.aborted).toBe(false);
  });

  it('skips the drain at a second SIGTERM 100 ms after the first', () => {
    const clock = new ManualClock();
    const stop = new StopRequest(clock);
    stop.onSignal('SIGTERM');
    clock.advance(100);

    expect(stop.onSignal('SIGTERM')).toBe('hurry');
    expect(stop.hurrySignal.aborted).toBe(true);
  });

  it('ignores a SIGHUP while it stops after a failure', () => {
    const stop = new StopRequest(new ManualClock());
    stop.fail(new Error('broken'));
    expect(stop.onSignal('SIGHUP')).toBe('echo');
    expect(stop.hurrySignal.aborted).toBe(false);
  });

  it('stops in order at a SIGHUP and ignores further ones', () => {
    const clock = new ManualClock();
    const stop = new StopRequest(clock);
    const effects = Array.from({ length: 2 }, () => {
      clock.advance(60_000);
      return stop.onSignal('SIGHUP');
    });

    expect(effects).toEqual(['stop', 'echo']);
    expect(stop.hurrySignal.aborted).toBe(false);
  });

  it('resolves `requested()` for earlier and later callers', async () => {
    const stop = new StopRequest(new ManualClock());
    const before = stop.requested();
    stop.onSignal();

    await expect(Promise.all([before, stop.requested()])).resolves.toBeDefined();
  });

  it('drains only briefly after a failure, and keeps the first one', () => {
    const clock = new ManualClock();
    const stop = new StopRequest(clock);
    stop.fail(new Error('first'));
    stop.fail(new Error('second'));

    expect(stop.signal.aborted).toBe(true);
    expect(stop.hurrySignal.aborted).toBe(false);
    clock.advance(2_000);
    expect(stop.hurrySignal.aborted).toBe(true);
    expect(stop.failure?.message).toBe('first');
  });
});
