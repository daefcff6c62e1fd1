import type { Duplex } from 'node:stream';

import type { WebSocket } from 'ws';

import { AppError, type Clock } from '#platform';

import type { SlowViewers } from '../../streams/slow-viewers.js';

/** How long, and how far, a viewer may be behind. */
export interface SlowLimits {
  /** Unsent bytes from which on nothing more is pulled for the viewer. */
  readonly bytes: number;
  readonly ms: number;
  /** Counts the viewer while it is waited for. */
  readonly unsent: Pick<SlowViewers, 'enter'>;
}

/** A connection with this many times the slow-viewer limit unsent, delayed results included, is closed. */
const mostUnsent = 64;

/** Everything that one connection sends, and how much of it is unsent. */
export class SocketOutlet {
  private isGathering = false;
  private draining: Promise<void> | undefined;
  /** Characters of results that wait until the viewer has taken what was sent before. */
  private waiting = 0;

  /** `stream` is what `socket` writes to. */
  constructor(
    private readonly socket: WebSocket,
    private readonly stream: Duplex,
    private readonly clock: Clock,
    private readonly limits: SlowLimits,
  ) {}

  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  /** Sends one event of a subscription, which asks `drained` before each. */
  write(text: string): void {
    if (!this.isOpen) return;
    this.gather();
    this.socket.send(text, ignore);
  }

  /**
   * Sends a result, an error or a pong, once less than the limit is unsent; resolves when it has left. Many results at once for a viewer that
   * does not read end the connection, as does a viewer that is too slow. Never rejects.
   */
  async send(text: string): Promise<void> {
    const unsent = this.socket.bufferedAmount + this.waiting;
    if (unsent > 0 && unsent + text.length > this.limits.bytes * mostUnsent) this.socket.terminate();
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

  /** The frames of one turn leave in one system call, which costs more than all else about a frame. */
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
   * Undefined while less than the limit is unsent; else resolves when the socket has drained or closed. A viewer that does not
   * drain in time is cut off: it can come back with its cursor.
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
    // No close frame would get through: the other side does not read.
    this.socket.terminate();
    return new AppError({
      code: 'unavailable',
      message: 'This viewer was too slow, come back with its cursor',
      retryable: true,
    });
  }
}

const pollMs = 50;

/** A failed send shows as the socket's own close event, which reports it. */
function ignore(): void {
  return undefined;
}
