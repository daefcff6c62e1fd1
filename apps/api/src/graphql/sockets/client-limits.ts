import type { WebSocket } from 'ws';

import type { Clock, Timer } from '#platform';

/** Messages a socket may send each second on average, however few streams it may have. */
const leastPerSecond = 50;
/** What may come at once, in seconds of the average. */
const burstSeconds = 4;

/**
 * A token bucket for what one client sends: frames beyond it end the connection. Who may have more streams may also open and
 * close more of them: `streams` a second. `at` and `now` in ms, never falling.
 */
export class FrameBudget {
  private readonly perSecond: number;
  private left: number;

  constructor(
    private at: number,
    streams: number,
  ) {
    this.perSecond = Math.max(leastPerSecond, streams);
    this.left = this.burst;
  }

  /** Takes one; false: there is none left. */
  take(now: number): boolean {
    this.left = Math.min(this.burst, this.left + ((now - this.at) / 1_000) * this.perSecond);
    this.at = now;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }

  private get burst(): number {
    return this.perSecond * burstSeconds;
  }
}

/** Messages that are being handled, in bytes; nothing more is read until there are less. */
const MAX_HANDLED_BYTES = 1_048_576;
/** Bytes that one connection may send each second on average. */
const BYTES_PER_SECOND = 1_048_576;
/** Bytes that it may send at once, after a pause: four messages of the largest size. */
const BURST_BYTES = 1_048_576;

/** Decides when to read from one connection: a client that sends too much is read more slowly, not disconnected. */
export class ReadPacing {
  private handled = 0;
  private left = BURST_BYTES;
  private at: number;
  private pause: Timer | undefined;

  constructor(
    private readonly socket: Pick<WebSocket, 'pause' | 'resume' | 'isPaused'>,
    private readonly clock: Clock,
  ) {
    this.at = clock.monotonic();
  }

  /** A message arrived. */
  begin(bytes: number): void {
    const now = this.clock.monotonic();
    this.left = Math.min(BURST_BYTES, this.left + ((now - this.at) / 1_000) * BYTES_PER_SECOND) - bytes;
    this.at = now;
    this.handled += bytes;
    if (this.left < 0) this.pauseFor((-this.left / BYTES_PER_SECOND) * 1_000);
    if (this.isBusy) this.socket.pause();
  }

  /** Its handling has ended. */
  end(bytes: number): void {
    this.handled -= bytes;
    this.resume();
  }

  private get isBusy(): boolean {
    return this.handled > MAX_HANDLED_BYTES || this.pause !== undefined;
  }

  /** Later messages of the same read make the pause longer. */
  private pauseFor(ms: number): void {
    this.pause?.cancel();
    this.pause = this.clock.after(ms, () => {
      this.pause = undefined;
      this.resume();
    });
  }

  private resume(): void {
    if (!this.isBusy && this.socket.isPaused) this.socket.resume();
  }
}

/** Sends a pong unless one is still on its way: a peer that sends pings and reads nothing must not fill the memory with pongs. */
export function onePong<T>(send: (payload: T) => Promise<void>): (payload: T) => Promise<void> {
  let isPending = false;
  return async (payload) => {
    if (isPending) return;
    isPending = true;
    await send(payload);
    isPending = false;
  };
}
