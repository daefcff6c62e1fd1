import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus } from '#platform';

import { JobTelemetry } from '../job.telemetry.js';
import { ThreadQueueRepository } from './thread-queue.repository.js';

const stuckAtOnce = 50;

/** The jobs accepted behind the active one of a thread. Advanced by whoever ends a job, and by the sweeper as a floor. */
@Injectable()
export class ThreadQueue {
  constructor(
    private readonly repository: ThreadQueueRepository,
    @Inject(BUS) private readonly bus: Bus,
    private readonly telemetry: JobTelemetry,
  ) {}

  /** Lets the first in line begin its turn if nothing is active in the thread. May be called by anyone, at any time. */
  async advance(workspaceId: string, threadId: string): Promise<void> {
    const promoted = await this.repository.promoteFirst(workspaceId, threadId);
    if (promoted !== null) this.bus.publish('job-runnable', { workspaceId, ...promoted });
  }

  /** Moves lines whose active job ended without anybody moving them. */
  async advanceStuck(): Promise<void> {
    for (const { workspaceId, threadId } of await this.repository.findStuck(stuckAtOnce)) {
      try {
        await this.advance(workspaceId, threadId);
      } catch (error) {
        // One thread's trouble is its own: the sweep goes on for everybody else.
        this.telemetry.logger.warn({ err: error, workspaceId, threadId }, 'a line could not be advanced');
      }
    }
  }
}
