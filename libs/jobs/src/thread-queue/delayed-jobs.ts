import { Injectable } from '@nestjs/common';

import { Queues, QueueWorker, sweepEach } from '#platform';

import type { JobRef } from '../job.js';
import { JobTelemetry } from '../job.telemetry.js';
import { JobQueue } from '../queue/job-queue.js';
import { ThreadQueue } from './thread-queue.js';
import { ThreadQueueRepository } from './thread-queue.repository.js';

/**
 * Begins jobs that were accepted for a later instant. The row contains the instant, and the database's clock decides. The transaction of the
 * start sends a queue message that is due then. At the instant, a job with a thread enters the queue of the thread. A sweep each minute finds
 * jobs whose message was lost.
 */
@Injectable()
export class DelayedJobs extends QueueWorker {
  constructor(
    private readonly repository: ThreadQueueRepository,
    private readonly threadQueue: ThreadQueue,
    private readonly queues: Queues,
    private readonly queue: JobQueue,
    private readonly telemetry: JobTelemetry,
  ) {
    super();
  }

  protected async open() {
    return [
      await this.queues.handleOne('job.due', (job) => this.begin(job)),
      await this.queues.handleEachMinute('maintenance.delayed-jobs', () => this.sweep()),
    ];
  }

  /** Begins every job whose instant has come. */
  async sweep(): Promise<void> {
    await sweepEach({
      find: (limit, without) => this.repository.findDue(limit, without),
      idOf: ({ jobId }) => jobId,
      act: (job) => this.begin(job),
      onError: (err, job) => {
        this.telemetry.logger.warn({ err, ...job }, 'a delayed job did not begin');
      },
    });
  }

  /** Does nothing if the job has ended or begun, or its instant has not come. */
  private async begin({ workspaceId, jobId }: JobRef): Promise<void> {
    const due = await this.repository.promoteDue(workspaceId, jobId);
    if (due === null) return;
    if (due.threadId === null) this.queue.hint({ workspaceId, jobId, kind: due.kind });
    else await this.threadQueue.advance(workspaceId, due.threadId);
  }
}
