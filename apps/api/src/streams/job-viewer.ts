import type { AccessWatch } from '#auth/api';
import type { Logger } from '#platform';
import type { CloseReason } from '#platform/api';

import { sseFrame } from './sse-frame.js';
import type { SseWriter } from './sse-writer.js';
import type { StreamEncoder } from './stream-encoder.js';
import type { JobFeed } from './viewed-item.js';

export interface JobViewerParts {
  readonly workspaceId: string;
  readonly jobId: string;
  /** The last event number that the client has. */
  readonly cursor: number | undefined;
  readonly encoder: StreamEncoder;
  readonly writer: SseWriter;
  readonly access: Pick<AccessWatch, 'check'>;
  readonly feed: JobFeed;
  readonly logger: Logger;
}

/** How one subscription to the feed ended: finally, or to be continued from a number (undefined: from a new snapshot). */
type Followed = { readonly type: 'over' } | { readonly type: 'again'; readonly from: number | undefined };

/** Whether the same client may reconnect with the same credential. */
const isPassing: Readonly<Record<CloseReason, boolean>> = {
  unauthorized: false,
  token_expired: false,
  slow_viewer: true,
  shutdown: true,
};

const over: Followed = { type: 'over' };

/**
 * One client that watches one job over SSE. It is a cursor: what its socket cannot take yet is not read from the log yet.
 */
export class JobViewer {
  private readonly abort = new AbortController();
  private lastSent: number;

  constructor(private readonly parts: JobViewerParts) {
    this.lastSent = parts.cursor ?? 0;
  }

  /** Returns when the stream is over, for any reason. Never rejects. */
  async run(): Promise<void> {
    const { workspaceId, jobId, writer, logger } = this.parts;
    try {
      let next: Followed = { type: 'again', from: this.parts.cursor };
      while (next.type === 'again') {
        next = await this.follow(next.from);
        if (writer.isCongested) await this.waitForDrain();
        if (this.abort.signal.aborted) return;
      }
      writer.end();
    } catch (err) {
      if (this.abort.signal.aborted) return;
      logger.warn({ err, workspaceId, jobId }, 'a stream broke off');
      this.close('shutdown');
    }
  }

  /** Ends the stream with a `closed` frame, which has no id: it is not in the log. Only the first call counts. */
  close(reason: CloseReason): void {
    if (this.abort.signal.aborted) return;
    this.abort.abort();
    const frame = sseFrame({ event: 'closed', data: { reason, retryable: isPassing[reason], after: this.lastSent } });
    if (reason === 'slow_viewer') this.parts.writer.cut(frame);
    else this.parts.writer.end(frame);
  }

  /** The client is gone: stop reading for it. */
  dispose(): void {
    this.abort.abort();
  }

  private async follow(after: number | undefined): Promise<Followed> {
    const { workspaceId, jobId, feed, encoder, writer, access } = this.parts;
    const { signal } = this.abort;
    for await (const item of feed.follow({ workspaceId, jobId, after, signal })) {
      const lost = await access.check();
      if (lost !== null) this.close(lost);
      if (signal.aborted) return over;
      const encoded = encoder.encode(item);
      writer.write(encoded.text);
      this.lastSent = encoded.after;
      if (encoded.needsSnapshot) return { type: 'again', from: undefined };
      // From here on by the cursor's rules: what happens meanwhile is replayed, or becomes a snapshot if it is too much.
      if (writer.isCongested) return { type: 'again', from: this.lastSent };
    }
    return over;
  }

  private async waitForDrain(): Promise<void> {
    if ((await this.parts.writer.drained()) === 'slow') this.close('slow_viewer');
  }
}
