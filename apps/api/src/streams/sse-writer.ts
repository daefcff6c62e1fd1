import type { ServerResponse } from 'node:http';

import { awakeTimeout, type Clock, type Timer } from '#platform';

import type { SlowViewers } from './slow-viewers.js';

export interface SseWriterOptions {
  readonly clock: Clock;
  /** After this much silence a comment keeps proxies from giving the connection up. */
  readonly pingMs: number;
  /** Above this many unsent bytes nothing more should be written until `drained`. */
  readonly slowBytes: number;
  /** How long a reader may take to drain, or to take what is left at the end, while this process is awake. */
  readonly slowMs: number;
  /** Counts the reader while it is waited for. */
  readonly unsent?: Pick<SlowViewers, 'enter'> | undefined;
  /** Runs with every ping. */
  readonly onPing: () => void;
  /** The first text of the stream; without it, browsers are asked to reconnect 2 s after a lost connection. */
  readonly opening?: string;
  /** The comment that breaks a silence; without, `: ping`. */
  readonly pingText?: () => string;
}

const headers = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
  Connection: 'keep-alive',
};

/**
 * An event stream on one response (HTML Standard, section 9.2). Has no queue besides the socket's own: the caller checks
 * `isCongested` and waits for `drained`. Frees its timers when either side closes the response.
 */
export class SseWriter {
  private ping: Timer | undefined;
  private lingering: Timer | undefined;
  private closed = false;

  constructor(
    private readonly response: ServerResponse,
    private readonly options: SseWriterOptions,
  ) {
    // The response's `close`, not the request's: the latter comes as soon as the request has been read.
    response.once('close', () => {
      this.closed = true;
      this.ping?.cancel();
      this.lingering?.cancel();
    });
    // A write may hit a connection that the peer has just reset; the `close` event follows and is handled.
    response.on('error', () => undefined);
  }

  /** Sends the headers and the opening. */
  open(): void {
    this.response.writeHead(200, headers);
    this.response.socket?.setKeepAlive(true, 30_000);
    this.write(this.options.opening ?? 'retry: 2000\n\n');
  }

  /** Does nothing once the stream is over. */
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

  /** Waits until everything written has been handed to the network; `slow` when that takes longer than `slowMs`. */
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

  /** Writes the last frame and ends. A reader that does not take what is left within `slowMs` is cut off. */
  end(lastText = ''): void {
    if (this.isOver) return;
    this.ping?.cancel();
    this.response.end(lastText);
    this.lingering = awakeTimeout(this.options.clock, this.options.slowMs, () => this.response.destroy());
  }

  /** Tries to say `lastText`, and cuts the connection without waiting for it to arrive. */
  cut(lastText: string): void {
    if (this.isOver) return;
    this.response.write(lastText);
    this.response.destroy();
  }
}
