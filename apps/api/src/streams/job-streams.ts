import type { ServerResponse } from 'node:http';

import { Inject, Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { ViewerAccess } from '#auth/api';
import { LOGGER, type Logger, systemClock } from '#platform';
import { OpenStreams } from '#platform/api';

import { type FeedRequest, JobFeeds } from './job-feeds.js';
import { JobViewer } from './job-viewer.js';
import { SlowViewers } from './slow-viewers.js';
import { SseWriter } from './sse-writer.js';
import type { StreamEncoder } from './stream-encoder.js';

/** Who watches what, from where on and in which words. The right to read the job has been checked. */
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
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Writes the stream until the job, the right to read, or the connection ends. Throws `rate_limited` before anything is
   * written. All it holds is freed when it returns.
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
      // A lost hint must not keep a silent stream open.
      access.check().then(
        (lost) => {
          if (lost !== null) viewer.close(lost);
        },
        () => undefined,
      );
    });
    const { feed, close } = this.feeds.open(request);
    const viewer = new JobViewer({ ...request, writer, access, feed, logger: this.logger });
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
