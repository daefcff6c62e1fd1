import { Injectable } from '@nestjs/common';

import { sweepEach } from '#platform';

import { JobTelemetry } from '../job.telemetry.js';
import { JobQueue } from '../queue/job-queue.js';
import { ThreadQueueRepository } from './thread-queue.repository.js';

/** The jobs queued behind the active job of a thread. The code that ends a job advances the queue; the sweeper repairs what a crash left. */
@Injectable()
export class ThreadQueue {
  constructor(
    private readonly repository: ThreadQueueRepository,
    private readonly queue: JobQueue,
    private readonly telemetry: JobTelemetry,
  ) {}

  /** Starts the first queued job if no job of the thread is active. Safe to call at any time. */
  async advance(workspaceId: string, threadId: string): Promise<void> {
    const promoted = await this.repository.promoteFirst(workspaceId, threadId);
    if (promoted !== null) this.queue.hint({ workspaceId, ...promoted });
  }

  /** Advances the queues of threads whose active job ended while the process crashed before it advanced the queue. */
  async advanceStuck(): Promise<void> {
    await sweepEach({
      find: (limit, without) => this.repository.findStuck(limit, without),
      idOf: ({ threadId }) => threadId,
      act: ({ workspaceId, threadId }) => this.advance(workspaceId, threadId),
      onError: (err, thread) => {
        this.telemetry.logger.warn({ err, ...thread }, 'a thread queue could not be advanced');
      },
    });
  }
}
