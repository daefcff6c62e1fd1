import type { WebSocket } from 'ws';

import type { Clock, Timer } from '#platform';

/** The minimum of messages that a socket may send each second on average, for clients with few allowed streams. */
const leastPerSecond = 50;
/** The size of a burst, in seconds of the average rate. */
const burstSeconds = 4;

/**
 * A token bucket for the frames of one client; a frame beyond the limit ends the connection. The rate is `streams` a second, because a
 * client with more streams may also open and close more of them. `at` and `now` are in ms and never fall.
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

  /** Takes one token; false: none is left. */
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

/** Maximum bytes of messages in progress; above it, the server stops reading from the connection. */
const MAX_HANDLED_BYTES = 1_048_576;
/** Bytes that one connection may send each second on average. */
const BYTES_PER_SECOND = 1_048_576;
/** Bytes that one connection may send at once after a pause: four messages of the largest size. */
const BURST_BYTES = 1_048_576;

/** Decides when to read from one connection: the server reads slower from a client that sends too much, and does not disconnect it. */
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

  /** Counts a message that arrived. */
  begin(bytes: number): void {
    const now = this.clock.monotonic();
    this.left = Math.min(BURST_BYTES, this.left + ((now - this.at) / 1_000) * BYTES_PER_SECOND) - bytes;
    this.at = now;
    this.handled += bytes;
    if (this.left < 0) this.pauseFor((-this.left / BYTES_PER_SECOND) * 1_000);
    if (this.isBusy) this.socket.pause();
  }

  /** Counts down when the message is handled. */
  end(bytes: number): void {
    this.handled -= bytes;
    this.resume();
  }

  private get isBusy(): boolean {
    return this.handled > MAX_HANDLED_BYTES || this.pause !== undefined;
  }

  /** Each later message of the same read makes the pause longer. */
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

/** Sends a pong unless the last one is not sent yet: a peer that sends pings and reads nothing must not fill the memory with pongs. */
export function onePong<T>(send: (payload: T) => Promise<void>): (payload: T) => Promise<void> {
  let isPending = false;
  return async (payload) => {
    if (isPending) return;
    isPending = true;
    await send(payload);
    isPending = false;
  };
}
