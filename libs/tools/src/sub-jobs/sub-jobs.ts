import { Inject, Injectable } from '@nestjs/common';

import { isTerminal, type JobRef, JobStopper } from '#jobs';
import { LOGGER, type Logger } from '#platform';

import { type SubJobCallRef, SubJobCallsRepository } from './sub-job-calls.repository.js';
import { SubJobSettler } from './sub-job-settler.js';
import { SubJobStarter } from './sub-job-starter.js';

const atOnce = 100;

/**
 * Calls that run as sub-jobs. The ledger row, committed as `running` with its round, is the intent; the job follows
 * from it, by the call's key, and the end of the call from the end of the job. Any process may take each step and repeat
 * it, since the process of the step before may be gone: a worker continues at once, a hint cuts latency, the sweep guarantees it.
 */
@Injectable()
export class SubJobs {
  constructor(
    private readonly calls: SubJobCallsRepository,
    private readonly starter: SubJobStarter,
    private readonly settler: SubJobSettler,
    private readonly stopper: JobStopper,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Makes the next step of a call, if there is one to be made. Never throws: what fails is tried again by the sweep. */
  async lookAfter(ref: SubJobCallRef): Promise<void> {
    await this.guarded(ref, async () => {
      const call = await this.calls.find(ref);
      if (call === null) return;
      const { subJob } = call;
      if (subJob !== null) {
        if (isTerminal(subJob.status)) await this.settler.takeOver(call, subJob);
        return;
      }
      const start = await this.starter.start(call);
      if (start.type === 'refused') await this.settler.refuse(call, start.end);
      else await this.settler.show(call, start.jobId);
    });
  }

  /** Handles everything that is due, and cancels sub-jobs that are no longer needed, up to a limit: of one job, or of all jobs. */
  async sweep(parent: JobRef | null): Promise<void> {
    for (const ref of await this.calls.findDue(parent, atOnce)) await this.lookAfter(ref);
    for (const job of await this.calls.findUnwanted(parent, atOnce))
      await this.guarded(job, () => this.stopper.cancelTree(job));
  }

  private async guarded(ref: JobRef, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      const { workspaceId, jobId } = ref;
      this.logger.warn({ err, workspaceId, jobId }, 'a sub-job was not looked after');
    }
  }
}
