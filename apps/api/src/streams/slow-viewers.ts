import { Injectable } from '@nestjs/common';

import { Config } from '#platform';

/** A viewer that reads more slowly than the API sends. */
export interface SlowViewer {
  /** Bytes written to it and not yet read by the client. */
  readonly bytes: number;
  /** Disconnects it. */
  readonly cut: () => void;
}

/**
 * Bounds the unsent bytes of all slow viewers of this process, for any number of viewers and any text size. Over SLOW_VIEWERS_BYTES
 * it disconnects the viewer that has been slow for longest; that viewer can resume from its cursor.
 */
@Injectable()
export class SlowViewers {
  /** By connection, because several subscriptions of one connection may wait for it. */
  private readonly waiting = new Map<object, SlowViewer & { readonly views: number }>();
  private total = 0;

  /** For each viewer: the unsent bytes above which the API waits, and for how long (ms). */
  readonly limits: { readonly slowBytes: number; readonly slowMs: number };
  private readonly totalBytes: number;

  constructor({ values }: Config) {
    this.limits = { slowBytes: values.SLOW_VIEWER_BYTES, slowMs: values.SLOW_VIEWER_MS };
    this.totalBytes = values.SLOW_VIEWERS_BYTES;
  }

  /** Counts a slow connection; returns a function that ends the count. A single slow connection is never disconnected. */
  enter(connection: object, viewer: SlowViewer): () => void {
    const views = this.waiting.get(connection)?.views ?? 0;
    this.change(connection, { ...viewer, views: views + 1 });
    for (const [oldest, { cut }] of this.waiting) {
      if (this.total <= this.totalBytes || this.waiting.size === 1) break;
      this.change(oldest, undefined);
      cut();
    }
    return () => {
      const left = this.waiting.get(connection);
      if (left !== undefined) this.change(connection, left.views > 1 ? { ...left, views: left.views - 1 } : undefined);
    };
  }

  private change(connection: object, viewer: (SlowViewer & { readonly views: number }) | undefined): void {
    this.total += (viewer?.bytes ?? 0) - (this.waiting.get(connection)?.bytes ?? 0);
    if (viewer === undefined) this.waiting.delete(connection);
    else this.waiting.set(connection, viewer);
  }
}
