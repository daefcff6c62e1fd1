import type { Duplex } from 'node:stream';

import type { WebSocket } from 'ws';

import { TokenBucket } from '../../refusals/token-bucket.js';

/** Bytes that a connection may send before its `connection_init` is accepted: a long token fits several times. */
const maxBytes = 32 * 1024;

/**
 * The connections without an accepted `connection_init`, which anyone can open. At most `most` exist; one more closes the oldest. Honest
 * clients send `connection_init` at once, so the oldest connections are those that never will.
 */
export class PendingSockets {
  private readonly pending = new Map<WebSocket, () => void>();
  private readonly replacements: TokenBucket;

  constructor(private readonly most: number) {
    this.replacements = new TokenBucket(0, { perSecond: most, burst: most });
  }

  get size(): number {
    return this.pending.size;
  }

  /**
   * Whether an upgrade may be accepted. At the limit each one ends the oldest connection, at most `most` times a second on average: a
   * handshake costs more than a refusal. `now` in ms, never falling.
   */
  admits(now: number): boolean {
    return this.pending.size < this.most || this.replacements.take(now);
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
}
