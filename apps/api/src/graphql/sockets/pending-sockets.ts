import type { Duplex } from 'node:stream';

import type { WebSocket } from 'ws';

import type { Clock } from '#platform';

/** Bytes that a connection may send before its `connection_init` is accepted: a long token fits several times. */
const maxBytes = 32 * 1024;
/** As long as a client may take for `connection_init`: a client that disconnects at once takes no less of the limit. */
const endedMs = 3_000;

/**
 * The connections without an accepted `connection_init`, which anyone can open. At most `most` exist; one more closes the oldest. Honest
 * clients send `connection_init` at once, so the oldest connections are those that never will.
 */
export class PendingSockets {
  private readonly pending = new Map<WebSocket, () => void>();
  private ended = 0;

  constructor(
    private readonly most: number,
    private readonly clock: Clock,
  ) {}

  get size(): number {
    return this.pending.size;
  }

  /** Whether fewer than `most` connections are without an accepted `connection_init`, or ended so in the last seconds. */
  get hasRoom(): boolean {
    return this.pending.size + this.ended < this.most;
  }

  /** `stream` is what `socket` reads from. */
  add(socket: WebSocket, stream: Duplex): void {
    let bytes = 0;
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) socket.terminate();
    };
    stream.on('data', count);
    this.pending.set(socket, () => stream.off('data', count));
    socket.once('close', () => {
      if (this.pending.has(socket)) this.countEnd();
      this.remove(socket);
    });
    const [oldest] = this.pending.keys();
    if (this.pending.size > this.most && oldest !== undefined) {
      this.remove(oldest);
      // After a close frame, the peer would decide when the connection ends.
      oldest.terminate();
    }
  }

  /** The connection's `connection_init` is accepted, or the connection has ended. */
  remove(socket: WebSocket): void {
    this.pending.get(socket)?.();
    this.pending.delete(socket);
  }

  private countEnd(): void {
    this.ended += 1;
    this.clock.after(endedMs, () => (this.ended -= 1));
  }
}
