import { Leases, type LeasesOptions } from '#platform';

import { DeadlineReached, JobCancelled } from './end-reason.js';
import type { JobRun } from './job-run.js';
import type { LeaseRepository, Renewed } from './lease.repository.js';

export interface LeaseKeeperOptions extends Pick<LeasesOptions<JobRun, Renewed>, 'leaseMs' | 'clock' | 'logger'> {
  readonly onLost: () => void;
}

/**
 * Keeps the leases of the jobs of one worker, on a reserved connection. A renewal also returns cancels and deadlines, so a lost hint costs
 * latency only.
 */
export class LeaseKeeper extends Leases<JobRun, Renewed> {
  /** Workspaces whose answers are being read; true: read them again afterwards. */
  private readonly looking = new Map<string, boolean>();

  constructor(
    private readonly repository: LeaseRepository,
    { onLost, ...options }: LeaseKeeperOptions,
  ) {
    super({
      ...options,
      idOf: ({ job }) => job.jobId,
      renew: (runs) =>
        repository.renew(runs.map(({ job: { workspaceId, jobId, epoch } }) => ({ workspaceId, jobId, epoch }))),
      onRenewed: (run, renewed) => {
        run.noticeAnswers(renewed.externalUpdates);
        if (renewed.cancelRequested) run.abort(new JobCancelled(renewed.reason ?? undefined));
        else if (renewed.late && run.activity.awaitedMs === 0) run.abort(new DeadlineReached());
      },
      onLost: (run, why) => {
        const { jobId, epoch } = run.job;
        if (why === 'not renewed')
          options.logger.warn({ jobId, epoch }, 'lease not renewed in time; stopping the job here');
        onLost();
        run.lose();
      },
    });
  }

  /**
   * Requests of a workspace have changed: reads how often its running jobs that wait for requests were answered. If several hints arrive
   * during a read, one more read follows. If a read fails, the next renewal reads the numbers.
   */
  async lookForAnswers(workspaceId: string): Promise<void> {
    if (this.looking.has(workspaceId)) {
      this.looking.set(workspaceId, true);
      return;
    }
    do {
      this.looking.set(workspaceId, false);
      await this.lookOnce(workspaceId);
    } while (this.looking.get(workspaceId) === true);
    this.looking.delete(workspaceId);
  }

  private async lookOnce(workspaceId: string): Promise<void> {
    const waiting = this.items().filter(
      ({ job, onAnswered }) => job.workspaceId === workspaceId && onAnswered !== undefined,
    );
    if (waiting.length === 0) return;
    const jobIds = waiting.map(({ job }) => job.jobId);
    try {
      const answered = await this.repository.countAnswers(workspaceId, jobIds);
      for (const run of waiting) run.noticeAnswers(answered.get(run.job.jobId) ?? 0);
    } catch (error) {
      this.options.logger.warn(
        { err: error, workspaceId },
        'reading the answers failed; the next renewal reads them again',
      );
    }
  }
}
