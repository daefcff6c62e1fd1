import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { ReadPacing } from './read-pacing.js';

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
