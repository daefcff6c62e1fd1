import { Injectable } from '@nestjs/common';

import { Config } from '#platform';

/** A viewer that is waited for. */
export interface SlowViewer {
  /** What is written to it and not taken yet. */
  readonly bytes: number;
  /** Disconnects it. */
  readonly cut: () => void;
}

/**
 * What all slow viewers of this process have not taken yet, bounded: memory grows with neither their number nor the texts that they
 * asked for. Over SLOW_VIEWERS_BYTES the viewer that has waited longest is disconnected; it can come back with its cursor.
 */
@Injectable()
export class SlowViewers {
  /** By connection: several views of one may wait for it. */
  private readonly waiting = new Map<object, SlowViewer & { readonly views: number }>();
  private total = 0;

  /** Of each viewer: unsent bytes from which on it is waited for, and for how long (ms). */
  readonly limits: { readonly slowBytes: number; readonly slowMs: number };
  private readonly totalBytes: number;

  constructor({ values }: Config) {
    this.limits = { slowBytes: values.SLOW_VIEWER_BYTES, slowMs: values.SLOW_VIEWER_MS };
    this.totalBytes = values.SLOW_VIEWERS_BYTES;
  }

  /** Counts a connection as long as it is waited for; returns what ends that. One that is alone is never cut. */
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
