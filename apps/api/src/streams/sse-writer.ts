import type { ServerResponse } from 'node:http';

import { awakeTimeout, type Clock, endTextsOfRequest, type Timer } from '#platform';

import type { SlowViewers } from './slow-viewers.js';

export interface SseWriterOptions {
  readonly clock: Clock;
  /** Interval of comments in a silent stream, so that proxies do not close the connection. */
  readonly pingMs: number;
  /** Above this many unsent bytes, the caller waits for `drained`. */
  readonly slowBytes: number;
  /** How long (ms, while this process is awake) a reader may take to drain, or to read the rest at the end. */
  readonly slowMs: number;
  /** Counts the reader while the API waits for it. */
  readonly unsent?: Pick<SlowViewers, 'enter'> | undefined;
  /** Runs with every ping. */
  readonly onPing: () => void;
  /** The first text of the stream. Default: it tells browsers to reconnect 2 s after a lost connection. */
  readonly opening?: string;
  /** The comment for a silent stream. Default: `: ping`. */
  readonly pingText?: () => string;
}

const headers = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
  Connection: 'keep-alive',
};

/**
 * An event stream on one response (HTML Standard, section 9.2). It has no queue besides that of the socket: the caller checks `isCongested`
 * and waits for `drained`. Frees its timers when either side closes the response.
 */
export class SseWriter {
  private ping: Timer | undefined;
  private lingering: Timer | undefined;
  private closed = false;

  constructor(
    private readonly response: ServerResponse,
    private readonly options: SseWriterOptions,
  ) {
    // The `close` event of the response, because that of the request comes as soon as the request has been read.
    response.once('close', () => {
      this.closed = true;
      this.ping?.cancel();
      this.lingering?.cancel();
    });
    // The peer may have reset the connection. The error needs no handling, because `close` follows.
    response.on('error', () => undefined);
  }

  /** Sends the headers and the opening. */
  open(): void {
    endTextsOfRequest();
    this.response.writeHead(200, headers);
    this.response.socket?.setKeepAlive(true, 30_000);
    this.write(this.options.opening ?? 'retry: 2000\n\n');
  }

  /** Writes a text; does nothing after the end of the stream. */
  write(text: string): void {
    if (this.isOver || text === '') return;
    this.response.write(text);
    this.ping?.cancel();
    this.ping = this.options.clock.after(this.options.pingMs, () => {
      this.write(this.options.pingText?.() ?? ': ping\n\n');
      this.options.onPing();
    });
  }

  get isOver(): boolean {
    return this.closed || this.response.writableEnded || this.response.destroyed;
  }

  get isCongested(): boolean {
    return !this.isOver && this.response.writableLength > this.options.slowBytes;
  }

  /** Waits until the network has taken all written data; `slow` if that takes longer than `slowMs`. */
  drained(): Promise<'drained' | 'slow' | 'closed'> {
    if (this.isOver) return Promise.resolve('closed');
    if (!this.response.writableNeedDrain) return Promise.resolve('drained');
    return new Promise((resolve) => {
      const settle = (outcome: 'drained' | 'slow' | 'closed') => {
        timer.cancel();
        leave?.();
        this.response.off('drain', onDrain).off('close', onClose);
        resolve(outcome);
      };
      const onDrain = () => {
        settle('drained');
      };
      const onClose = () => {
        settle('closed');
      };
      const timer = awakeTimeout(this.options.clock, this.options.slowMs, () => {
        settle('slow');
      });
      this.response.once('drain', onDrain).once('close', onClose);
      const leave = this.options.unsent?.enter(this.response, {
        bytes: this.response.writableLength,
        cut: () => {
          this.response.destroy();
        },
      });
    });
  }

  /** Writes the last frame and ends the stream. Disconnects a reader that does not read the rest within `slowMs`. */
  end(lastText = ''): void {
    if (this.isOver) return;
    this.ping?.cancel();
    this.response.end(lastText);
    this.lingering = awakeTimeout(this.options.clock, this.options.slowMs, () => this.response.destroy());
  }

  /** Writes `lastText` and closes the connection without waiting until the reader gets it. */
  cut(lastText: string): void {
    if (this.isOver) return;
    this.response.write(lastText);
    this.response.destroy();
  }
}
