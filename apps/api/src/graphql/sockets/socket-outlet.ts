import type { Duplex } from 'node:stream';

import type { WebSocket } from 'ws';

import { AppError, type Clock } from '#platform';

import type { SlowViewers } from '../../streams/slow-viewers.js';

/** How many unsent bytes a viewer may have, and for how long. */
export interface SlowLimits {
  /** Above this many unsent bytes, the subscription pulls no more events for the viewer. */
  readonly bytes: number;
  readonly ms: number;
  /** Counts the viewer while the API waits for it. */
  readonly unsent: Pick<SlowViewers, 'enter'>;
}

/** A connection closes above this multiple of `SlowLimits.bytes`, delayed results included. */
const maxUnsentFactor = 64;

/** Sends everything for one connection, and counts the unsent bytes. */
export class SocketOutlet {
  private isGathering = false;
  private draining: Promise<void> | undefined;
  /** Characters of results that wait until the viewer has read earlier data. */
  private waiting = 0;

  /** `socket` writes to `stream`. */
  constructor(
    private readonly socket: WebSocket,
    private readonly stream: Duplex,
    private readonly clock: Clock,
    private readonly limits: SlowLimits,
  ) {}

  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  /** Sends one event of a subscription. The subscription calls `drained` before each event. */
  write(text: string): void {
    if (!this.isOpen) return;
    this.gather();
    this.socket.send(text, ignore);
  }

  /**
   * Sends a result, an error or a pong once the unsent bytes are below the limit; resolves when it is sent. A connection ends
   * if its viewer does not read and receives many results at once, or is too slow. Never rejects.
   */
  async send(text: string): Promise<void> {
    const unsent = this.socket.bufferedAmount + this.waiting;
    if (unsent > 0 && unsent + text.length > this.limits.bytes * maxUnsentFactor) this.socket.terminate();
    const draining = this.drained();
    if (draining !== undefined) {
      this.waiting += text.length;
      await draining.catch(ignore);
      this.waiting -= text.length;
    }
    if (!this.isOpen) return;
    await new Promise<void>((resolve) => {
      this.socket.send(text, () => {
        resolve();
      });
    });
  }

  /** Combines the frames of one turn into one system call, because the call costs more than the rest of a frame. */
  private gather(): void {
    if (this.isGathering) return;
    this.isGathering = true;
    this.stream.cork();
    process.nextTick(() => {
      this.isGathering = false;
      this.stream.uncork();
    });
  }

  /**
   * Undefined while the unsent bytes are below the limit; else resolves when the socket has drained or closed. Disconnects a viewer that
   * does not drain in time; that viewer can resume from its cursor.
   */
  drained(): Promise<void> | undefined {
    if (this.draining === undefined && this.socket.bufferedAmount > this.limits.bytes) {
      this.draining = this.waitForDrain().finally(() => {
        this.draining = undefined;
      });
    }
    return this.draining;
  }

  private waitForDrain(): Promise<void> {
    const leave = this.limits.unsent.enter(this.socket, {
      bytes: this.socket.bufferedAmount,
      cut: () => {
        this.socket.terminate();
      },
    });
    return new Promise<void>((resolve, reject) => {
      // Checks are counted instead of time: while this process is suspended, no client counts as slow.
      const look = (left: number) => {
        if (!this.isOpen || this.socket.bufferedAmount <= this.limits.bytes / 2) resolve();
        else if (left === 0) reject(this.cutOff());
        else
          this.clock.after(pollMs, () => {
            look(left - 1);
          });
      };
      look(Math.ceil(this.limits.ms / pollMs));
    }).finally(leave);
  }

  private cutOff(): AppError {
    // `terminate`, because the peer does not read and would not receive a close frame.
    this.socket.terminate();
    return new AppError({
      code: 'unavailable',
      message: 'The client did not read the stream in time. Reconnect with the last `seq` that it received.',
      retryable: true,
    });
  }
}

const pollMs = 50;

/** The `close` event of the socket reports a failed send. */
function ignore(): void {
  return undefined;
}
