import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { FrameBudget, onePong, ReadPacing } from './client-limits.js';

const megabyte = 1_048_576;

class TestSocket {
  isPaused = false;

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }
}

function open() {
  const clock = new ManualClock(0);
  const socket = new TestSocket();
  const pacing = new ReadPacing(socket, clock);
  const handle = (bytes: number) => {
    pacing.begin(bytes);
    pacing.end(bytes);
  };
  return { clock, socket, pacing, handle };
}

describe('ReadPacing', () => {
  it('reads nothing more while messages of more than a megabyte are handled', () => {
    const { socket, pacing, clock } = open();
    pacing.begin(megabyte);
    expect(socket.isPaused).toBe(false);
    clock.advance(2_000);
    pacing.begin(1);
    expect(socket.isPaused).toBe(true);
    pacing.end(1);
    expect(socket.isPaused).toBe(false);
  });

  it('reads a megabyte a second on average after a burst of one megabyte', () => {
    const { socket, clock, handle } = open();
    handle(megabyte);
    expect(socket.isPaused).toBe(false);
    handle(megabyte / 4);
    handle(megabyte / 4);
    expect(socket.isPaused).toBe(true);
    clock.advance(499);
    expect(socket.isPaused).toBe(true);
    clock.advance(1);
    expect(socket.isPaused).toBe(false);
    clock.advance(1_000);
    handle(megabyte);
    expect([socket.isPaused, clock.pending]).toEqual([false, 0]);
  });
});

describe('onePong', () => {
  it('sends no second pong while the first is unsent', async () => {
    const sent: number[] = [];
    const taken = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const pong = onePong<number>(async (payload) => {
      sent.push(payload);
      await taken[sent.length - 1]?.promise;
    });
    const first = pong(1);
    for (let i = 2; i < 1_000; i += 1) void pong(i);
    expect(sent).toEqual([1]);
    taken[0]?.resolve(undefined);
    await first;
    void pong(1_000);
    expect(sent).toEqual([1, 1_000]);
  });
});

const count = (budget: FrameBudget, now: number) => {
  let taken = 0;
  while (budget.take(now)) taken += 1;
  return taken;
};

describe('FrameBudget', () => {
  it('allows a burst of frames, then 50 frames a second', () => {
    const budget = new FrameBudget(0, 20);
    const taken = (now: number) => count(budget, now);
    expect(taken(0)).toBe(200);
    expect(taken(1_000)).toBe(50);
    expect(taken(1_010)).toBe(0);
    expect(taken(1_000_000)).toBe(200);
  });

  it('allows a larger burst when a principal may have more streams', () => {
    expect(count(new FrameBudget(0, 500), 0)).toBe(2_000);
  });
});
