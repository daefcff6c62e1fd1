import { Inject, Injectable } from '@nestjs/common';

import { InterruptSettler, InterruptsRepository, JobUpdater, subJobsDue } from '#jobs';
import { BUS, type Bus } from '#platform';
import { AwaitingCallsRepository, callUpdated, type LockedCall } from '#tools';

/** Which lease ends the job. */
interface EndingJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly epoch: number;
}

/** Ends everything that a job, or a part of it, still has open: calls, and the requests about them. */
@Injectable()
export class JobCloser {
  constructor(
    private readonly updater: JobUpdater,
    private readonly interrupts: InterruptsRepository,
    private readonly settler: InterruptSettler,
    private readonly calls: AwaitingCallsRepository,
    @Inject(BUS) private readonly bus: Bus,
  ) {}

  /**
   * For the holder of a job's lease that is about to end it, or only what belongs to some of its `rounds`: then requests about no
   * call stay, but those of `requests`. Everything it has written must be on disk. Reads the rows under the lock of the job,
   * not the worker's memory: an answer that arrived meanwhile stands and is not published again, and a
   * later one finds the request cancelled. Does nothing for a lease that is gone; may be called again.
   */
  async close(
    { workspaceId, jobId, epoch }: EndingJob,
    rounds?: readonly number[],
    requests: readonly string[] = [],
  ): Promise<void> {
    const closed = await this.updater.update(workspaceId, jobId, async (job) => {
      if (job.row.epoch !== epoch || job.row.status !== 'running') return [];
      const calls = await this.calls.closeAll(job, rounds);
      for (const call of calls) job.append(callUpdated(call));
      if (calls.some(isSubJob)) job.send(subJobsDue(job));
      const ids = rounds === undefined ? null : await this.calls.idsOf(job, rounds);
      for (const interrupt of await this.interrupts.openOfJob(job.client, job)) {
        const isPart = ids === null || ids.has(interrupt.toolCallId ?? '') || requests.includes(interrupt.id);
        if (!isPart) continue;
        await this.settler.store(
          { job, interrupt },
          { status: 'cancelled', outcome: { outcome: 'cancelled' }, by: null },
        );
      }
      return calls;
    });
    if (closed?.some(isSubJob) === true) this.bus.publish('sub-jobs', { workspaceId, jobId });
  }
}

function isSubJob({ executor }: LockedCall): boolean {
  return executor === 'job';
}
