import { type Clock, type Logger, type Timer } from '#platform';

import { DeadlineReached, JobCancelled } from './end-reason.js';
import type { JobRun } from './job-run.js';
import type { LeaseRepository, Renewed } from './lease.repository.js';

interface Held {
  readonly run: JobRun;
  /** On the monotonic clock. After it another worker may own the lease, so the run aborts. */
  validUntil: number;
  timer: Timer;
}

export interface LeaseKeeperOptions {
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onLost: () => void;
}

/**
 * Keeps the leases of one worker: renews all of them in one statement every third of a lease, on a reserved connection, and aborts a run
 * two thirds of a lease after the start of its last successful renewal. A renewal also returns cancels and deadlines, so a lost hint costs
 * latency only.
 */
export class LeaseKeeper {
  private readonly held = new Map<string, Held>();
  /** Workspaces whose answers are being read; true: read them again afterwards. */
  private readonly looking = new Map<string, boolean>();
  private timer: Timer | undefined;

  constructor(
    private readonly repository: LeaseRepository,
    private readonly options: LeaseKeeperOptions,
  ) {}

  get size(): number {
    return this.held.size;
  }

  runs(): JobRun[] {
    return [...this.held.values()].map(({ run }) => run);
  }

  find(jobId: string): JobRun | undefined {
    return this.held.get(jobId)?.run;
  }

  /** `claimedAt`: monotonic instant before the claim was sent. */
  add(run: JobRun, claimedAt: number): void {
    const validUntil = claimedAt + this.grace;
    this.held.set(run.job.jobId, { run, validUntil, timer: this.watch(run, validUntil) });
    this.timer ??= this.options.clock.after(this.options.leaseMs / 3, () => void this.renewAll());
  }

  remove(run: JobRun): void {
    const held = this.held.get(run.job.jobId);
    if (held?.run !== run) return;
    held.timer.cancel();
    this.held.delete(run.job.jobId);
    if (this.held.size === 0) this.stop();
  }

  /** Renews and reads the lease of `run`; undefined: this process does not own it. */
  async ask(run: JobRun): Promise<Renewed | undefined> {
    const { workspaceId, jobId, epoch } = run.job;
    const renewed = await this.repository.renew([{ workspaceId, jobId, epoch }]);
    return renewed.get(jobId);
  }

  /**
   * Requests of a workspace have changed: reads how often its running jobs that wait for some were answered. Any number of hints during a
   * read cause one more read. A read that fails is made up for by the next renewal.
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

  /** False once another worker may own the lease, on the monotonic clock; also before the timer has fired. */
  isValid(run: JobRun): boolean {
    const held = this.held.get(run.job.jobId);
    return held?.run === run && this.options.clock.monotonic() < held.validUntil;
  }

  stop(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  private async lookOnce(workspaceId: string): Promise<void> {
    const waiting = this.runs().filter(
      ({ job, onAnswered }) => job.workspaceId === workspaceId && onAnswered !== undefined,
    );
    if (waiting.length === 0) return;
    const jobIds = waiting.map(({ job }) => job.jobId);
    try {
      const answered = await this.repository.countAnswers(workspaceId, jobIds);
      for (const run of waiting) run.noticeAnswers(answered.get(run.job.jobId) ?? 0);
    } catch (error) {
      this.options.logger.warn({ err: error, workspaceId }, 'looking for answers failed; the next renewal looks again');
    }
  }

  private get grace(): number {
    return (this.options.leaseMs * 2) / 3;
  }

  private watch(run: JobRun, validUntil: number): Timer {
    const { clock } = this.options;
    return clock.after(validUntil - clock.monotonic(), () => {
      this.options.logger.warn(
        { jobId: run.job.jobId, epoch: run.job.epoch },
        'lease not renewed in time; stopping the job here',
      );
      this.lose(run);
    });
  }

  private async renewAll(): Promise<void> {
    this.timer = undefined;
    const startedAt = this.options.clock.monotonic();
    const asked = [...this.held.values()];
    try {
      const renewed = await this.repository.renew(asked.map(({ run }) => run.job));
      for (const held of asked) this.take(held, startedAt, renewed.get(held.run.job.jobId));
    } catch (error) {
      this.options.logger.warn({ err: error, leases: asked.length }, 'renewing leases failed; trying again');
    }
    if (this.held.size > 0) {
      this.timer ??= this.options.clock.after(this.options.leaseMs / 3, () => void this.renewAll());
    }
  }

  private take(held: Held, startedAt: number, renewed: Renewed | undefined): void {
    const { run } = held;
    if (this.held.get(run.job.jobId) !== held) return; // it ended during the renewal
    if (renewed === undefined) {
      this.lose(run);
      return;
    }
    held.timer.cancel();
    held.validUntil = startedAt + this.grace;
    held.timer = this.watch(run, held.validUntil);
    run.noticeAnswers(renewed.answered);
    if (renewed.cancelRequested) run.abort(new JobCancelled(renewed.reason ?? undefined));
    else if (renewed.late && run.activity.awaitedMs === 0) run.abort(new DeadlineReached());
  }

  private lose(run: JobRun): void {
    this.options.onLost();
    run.lose();
  }
}
