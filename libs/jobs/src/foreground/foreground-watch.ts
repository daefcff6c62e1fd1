import { Inject, Injectable } from '@nestjs/common';

import { actOnEach, type Clock, Config, LOGGER, type Logger, systemClock, type Timer } from '#platform';

import { JobStopper } from '../cancel/job-stopper.js';
import type { JobRef } from '../job.js';
import { ForegroundJobsRepository } from './foreground-jobs.repository.js';

/** Maximum number of jobs without a viewer that a process watches at once; others wait for the next check. */
const maxWatched = 1_000;
const longestDelayMs = 1_000;
const shortestDelayMs = 50;
/** Delay between checks if the setting lets jobs run without a client, and no job without a viewer was found recently. */
const rareDelayMs = 15_000;
/** How long checks stay frequent after such a job was found. */
const frequentMs = 600_000;

/**
 * Cancels jobs that run only while a client follows them, once they have been without a viewer for FOREGROUND_GRACE_MS: after the start,
 * so that the client can subscribe, and after each disconnection, so that it can reconnect. Every worker measures this time with its own clock.
 */
@Injectable()
export class ForegroundWatch {
  protected readonly clock: Clock = systemClock;
  private readonly graceMs: number;
  private readonly isExpected: boolean;
  /** When a job without a viewer was last found, on the monotonic clock. */
  private seenAt = -Infinity;
  /** When this process first found the job without a viewer, on the monotonic clock. */
  private unwatchedSince = new Map<string, number>();
  private timer: Timer | undefined;
  private checking: Promise<void> = Promise.resolve();
  private isStopped = true;

  constructor(
    private readonly repository: ForegroundJobsRepository,
    private readonly stopper: JobStopper,
    config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.graceMs = config.values.FOREGROUND_GRACE_MS;
    this.isExpected = !config.values.BACKGROUND_JOBS_ENABLED;
  }

  start(): void {
    if (!this.isStopped) return;
    this.isStopped = false;
    this.checkLater();
  }

  /** Resolves when no check is running. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.timer?.cancel();
    await this.checking;
  }

  /** Cancels the jobs whose grace time is over. */
  async check(): Promise<void> {
    const now = this.clock.monotonic();
    const unwatched = await this.repository.findUnwatched(maxWatched);
    if (unwatched.length > 0) this.seenAt = now;
    const since = new Map(unwatched.map(({ jobId }) => [jobId, this.unwatchedSince.get(jobId) ?? now]));
    this.unwatchedSince = since;
    const due = unwatched.filter(({ jobId }) => now - (since.get(jobId) ?? now) >= this.graceMs);
    await actOnEach(
      due,
      (job) => this.cancel(job),
      (err, job) => {
        this.logger.warn({ err, ...job }, 'a job whose clients have disconnected was not cancelled');
      },
    );
  }

  private async cancel(job: JobRef): Promise<void> {
    await this.stopper.cancelTree(job, 'client_disconnected');
    this.unwatchedSince.delete(job.jobId);
    this.logger.info({ ...job }, 'cancelled a job whose clients have disconnected');
  }

  private delayMs(): number {
    const isFrequent = this.isExpected || this.clock.monotonic() - this.seenAt < frequentMs;
    return isFrequent ? Math.max(shortestDelayMs, Math.min(this.graceMs / 4, longestDelayMs)) : rareDelayMs;
  }

  private checkLater(): void {
    if (this.isStopped) return;
    this.timer = this.clock.after(this.delayMs(), () => {
      this.checking = this.check()
        .catch((err: unknown) => {
          this.logger.warn({ err }, 'jobs without a client were not checked');
        })
        .finally(() => {
          this.checkLater();
        });
    });
  }
}
