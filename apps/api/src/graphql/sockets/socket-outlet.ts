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

/** Writes text to a socket and knows when the other side has taken it. */
export class SocketOutlet {
  private isGathering = false;

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

  write(text: string): void {
    if (!this.isOpen) return;
    this.gather();
    this.socket.send(text, ignore);
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
    return this.socket.bufferedAmount <= this.limits.bytes ? undefined : this.waitForDrain();
  }

  private waitForDrain(): Promise<void> {
    const leave = this.limits.unsent.enter(this.socket, {
      bytes: this.socket.bufferedAmount,
      cut: () => {
        this.socket.terminate();
      },
    });
    return new Promise<void>((resolve, reject) => {
      // Looks are counted, not time: while this process stands still, nobody is slow.
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

/** A failed send shows as the socket's own close; there is nobody to tell here. */
function ignore(): void {
  return undefined;
}
