import type { WebSocket } from 'ws';

import type { Clock, Timer } from '#platform';

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
