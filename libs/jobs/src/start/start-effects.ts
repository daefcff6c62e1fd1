import { Injectable } from '@nestjs/common';

import type { CancelResult } from '../cancel/cancel.repository.js';
import { JobTelemetry } from '../job.telemetry.js';
import { JobQueue } from '../queue/job-queue.js';
import { ThreadQueue } from '../thread-queue/thread-queue.js';
import type { StartRequest } from './start-request.js';

/** The hints to publish after the commit that accepts a batch of jobs. */
export interface StartEffects {
  readonly queued: StartRequest[];
  /** The queued jobs that a worker may claim at once. */
  readonly runnable: StartRequest[];
  /** Claimed by this process at acceptance; its worker publishes their events. */
  readonly begun: StartRequest[];
  /** Jobs that were cancelled, or whose cancellation was requested. */
  readonly superseded: (CancelResult & { readonly jobId: string })[];
  /** Threads whose queue may have a runnable job now. */
  readonly threads: Set<string>;
}

/** Publishes hints for accepted jobs. The jobs are committed, so a failure here costs latency and fails no start. */
@Injectable()
export class StartEffectsPublisher {
  constructor(
    private readonly queue: JobQueue,
    private readonly threadQueue: ThreadQueue,
    private readonly telemetry: JobTelemetry,
  ) {}

  async publish(workspaceId: string, { queued, runnable, begun, superseded, threads }: StartEffects): Promise<void> {
    this.telemetry.commits.inc({ writer: 'start' });
    for (const { kind } of [...queued, ...begun]) this.telemetry.accepted.inc({ kind });
    for (const { jobId } of queued) this.queue.hintGrown({ workspaceId, jobId, seq: 1, status: 'queued' });
    for (const { jobId, kind } of runnable) this.queue.hint({ workspaceId, jobId, kind });
    for (const { jobId, state, seq, status, kind, rounds } of superseded) {
      if (state === 'requested') this.queue.hintCancel({ workspaceId, jobId, why: 'superseded' });
      this.queue.hintGrown({ workspaceId, jobId, seq, status });
      if (state !== 'ended') continue;
      this.queue.hintSubJobs({ workspaceId, jobId });
      this.telemetry.jobEnded({ workspaceId, jobId, kind, status, rounds });
    }
    // The active job may have ended while the new job was queued behind it.
    for (const threadId of threads) {
      try {
        await this.threadQueue.advance(workspaceId, threadId);
      } catch (error) {
        this.telemetry.logger.warn(
          { err: error, workspaceId, threadId },
          'the queue of a thread could not be advanced',
        );
      }
    }
  }
}
