import type { ServerResponse } from 'node:http';

import { Inject, Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { type AccessWatch, ViewerAccess } from '#auth/api';
import { JobTelemetry } from '#jobs';
import { LOGGER, type Logger, systemClock } from '#platform';
import { type CloseReason, OpenStreams } from '#platform/api';

import { type FeedRequest, JobFeeds } from './job-feeds.js';
import { SlowViewers } from './slow-viewers.js';
import { sseFrame } from './sse-frame.js';
import { SseWriter } from './sse-writer.js';
import type { StreamEncoder } from './stream-encoder.js';
import type { JobFeed } from './viewed-item.js';

interface JobViewerParts {
  readonly workspaceId: string;
  readonly jobId: string;
  /** The last event number that the client has. */
  readonly cursor: number | undefined;
  readonly encoder: StreamEncoder;
  readonly writer: SseWriter;
  readonly access: Pick<AccessWatch, 'check'>;
  readonly feed: JobFeed;
  readonly logger: Logger;
  /** Counts the events of one write to the socket. */
  readonly sent: (count: number) => void;
}

/** How one subscription to the feed ended: for good, or to continue from a number (undefined: from a new snapshot). */
type Followed = { readonly type: 'over' } | { readonly type: 'again'; readonly from: number | undefined };

/** Whether the same client may reconnect with the same credential. */
const isRetryable: Readonly<Record<CloseReason, boolean>> = {
  unauthorized: false,
  token_expired: false,
  slow_viewer: true,
  shutdown: true,
};

const over: Followed = { type: 'over' };

/** One client that follows one job over SSE. It reads the log only as fast as its socket can send. */
export class JobViewer {
  private readonly abort = new AbortController();
  private lastSent: number;

  constructor(private readonly parts: JobViewerParts) {
    this.lastSent = parts.cursor ?? 0;
  }

  /** Returns when the stream has ended for any reason. Never rejects. */
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

  /** Ends the stream with a `closed` frame. The frame has no id, because it is not in the log. Only the first call has an effect. */
  close(reason: CloseReason): void {
    if (this.abort.signal.aborted) return;
    this.abort.abort();
    const frame = sseFrame({ event: 'closed', data: { reason, retryable: isRetryable[reason], after: this.lastSent } });
    if (reason === 'slow_viewer') this.parts.writer.cut(frame);
    else this.parts.writer.end(frame);
  }

  /** Stops reading, because the client has disconnected. */
  dispose(): void {
    this.abort.abort();
  }

  private async follow(after: number | undefined): Promise<Followed> {
    const { workspaceId, jobId, feed, encoder, writer, access, sent } = this.parts;
    const { signal } = this.abort;
    for await (const item of feed.follow({ workspaceId, jobId, after, signal })) {
      const lost = await access.check();
      if (lost !== null) this.close(lost);
      if (signal.aborted) return over;
      const encoded = encoder.encode(item);
      writer.write(encoded.text);
      if (item.type === 'events' && encoded.text !== '') sent(item.events.length);
      this.lastSent = encoded.after;
      if (encoded.needsSnapshot) return { type: 'again', from: undefined };
      // Continue from the cursor: events that are appended meanwhile are replayed or, if there are too many, replaced by a snapshot.
      if (writer.isCongested) return { type: 'again', from: this.lastSent };
    }
    return over;
  }

  private async waitForDrain(): Promise<void> {
    if ((await this.parts.writer.drained()) === 'slow') this.close('slow_viewer');
  }
}

/** A viewer, its job, and where the stream begins. The caller has already checked the right to read the job. */
export interface StreamRequest extends FeedRequest {
  readonly principal: Principal;
  readonly createdBy: string | null;
  readonly cursor: number | undefined;
  readonly encoder: StreamEncoder;
}

const pingMs = 15_000;

/** Serves jobs as event streams. */
@Injectable()
export class JobStreams {
  constructor(
    private readonly feeds: JobFeeds,
    private readonly access: ViewerAccess,
    private readonly open: OpenStreams,
    private readonly slow: SlowViewers,
    private readonly telemetry: JobTelemetry,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Writes the stream until the job ends, the right to read ends, or the connection closes. Throws `rate_limited` before it writes
   * anything. Frees all of its resources before it returns.
   */
  async serve(request: StreamRequest, response: ServerResponse): Promise<void> {
    const { principal, workspaceId, jobId } = request;
    const slot = this.open.enter({ principal: principal.id, workspaceId, jobId }, (reason) => {
      viewer.close(reason);
    });
    const access = this.access.watch(request, (reason) => {
      viewer.close(reason);
    });
    const writer = this.writerOn(response, () => {
      // A silent stream must end even if the hint about a lost right did not arrive.
      access.check().then(
        (lost) => {
          if (lost !== null) viewer.close(lost);
        },
        () => undefined,
      );
    });
    const { feed, close } = this.feeds.open(request);
    const viewer = new JobViewer({
      ...{ ...request, writer, access, feed, logger: this.logger },
      sent: (count) => {
        this.telemetry.sentEvents.observe(count);
      },
    });
    response.once('close', () => {
      viewer.dispose();
    });
    try {
      if (writer.isOver) return;
      writer.open();
      await viewer.run();
    } finally {
      close();
      access.stop();
      slot.leave();
    }
  }

  private writerOn(response: ServerResponse, onPing: () => void): SseWriter {
    return new SseWriter(response, { clock: systemClock, pingMs, ...this.slow.limits, unsent: this.slow, onPing });
  }
}
