import { Inject, Injectable } from '@nestjs/common';

import { InterruptSettler, InterruptsRepository, JobUpdater, subJobsDue } from '#jobs';
import { BUS, type Bus } from '#platform';
import { AwaitingCallsRepository, callUpdated, type LockedCall } from '#tools';

/** The lease under which the job ends. */
interface EndingJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly epoch: number;
}

/** Ends everything that a job, or a part of it, still has open: calls and their requests. */
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
   * Called by the holder of the job's lease right before the job ends, after all its writes are committed. With `rounds`, it closes only the
   * calls of these rounds with their requests, and those of `requests`; other requests without a call stay open. It reads the rows under the
   * lock of the job, not the worker's memory: a decision that was committed meanwhile stands and is not published again, and a later one
   * finds the request cancelled. Does nothing if another lease owns the job. Idempotent.
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
