import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus, GroupWriter, systemClock } from '#platform';

import { JobTelemetry } from '../job.telemetry.js';
import { ThreadQueue } from '../thread-queue/thread-queue.js';
import { FreedCapacityRepository, type InactiveJob, type Successors } from './freed-capacity.repository.js';

const batching = { tickMs: 0, maxBatch: 500 } as const;

/**
 * Wakes the jobs that a running job kept waiting: the next job of its thread, and jobs of its workspace that now fit under the caps.
 *
 * No wake-up is lost while all processes live. If a claim finds a cap reached, it changes nothing and the job stays queued, so the search
 * after the next end finds the job. If an end commits before the claim counts, the claim sees it. If a process dies between an end and its
 * search, the sweeper finds the jobs.
 */
@Injectable()
export class FreedCapacity {
  private readonly looks: GroupWriter<InactiveJob, Successors>;
  /** Runs one search at a time; workspaces that are freed meanwhile share the next search. */
  private readonly wakes: GroupWriter<string, undefined>;

  constructor(
    private readonly repository: FreedCapacityRepository,
    private readonly threadQueue: ThreadQueue,
    @Inject(BUS) private readonly bus: Bus,
    private readonly telemetry: JobTelemetry,
  ) {
    this.looks = new GroupWriter((jobs) => this.repository.findSuccessors(jobs), systemClock, batching);
    this.wakes = new GroupWriter((workspaceIds) => this.wake(workspaceIds), systemClock, batching);
  }

  /** Call it after the commit that ended the job or set it to `waiting`. Never rejects: if it fails, the sweeper finds the jobs. */
  async freed(job: InactiveJob): Promise<void> {
    const { workspaceId, threadId } = job;
    try {
      const { inThread, inWorkspace } = await this.looks.submit(job);
      if (inThread && threadId !== null) await this.threadQueue.advance(workspaceId, threadId);
      if (inWorkspace) await this.wakes.submit(workspaceId);
    } catch (error) {
      this.telemetry.logger.warn({ err: error, workspaceId, threadId }, 'the search for jobs that may run now failed');
    }
  }

  private async wake(workspaceIds: readonly string[]): Promise<undefined[]> {
    for (const job of await this.repository.findNext([...new Set(workspaceIds)])) this.bus.publish('job-runnable', job);
    return workspaceIds.map(() => undefined);
  }
}
