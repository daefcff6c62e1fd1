import { Injectable } from '@nestjs/common';

import { type Clock, Config, processName, systemClock, type Timer } from '#platform';

import { EventLog } from '../events/event-log.js';
import type { JobKind } from '../job.js';
import { DeadlineReached, Draining, JobCancelled } from './end-reason.js';
import { HandlerRunner } from './handler-runner.js';
import { JobHandlers } from './job-handlers.js';
import { JobRun } from './job-run.js';
import { type ClaimedJob, LeaseRepository } from './lease.repository.js';
import { LeaseKeeper } from './lease-keeper.js';
import type { FlushPolicy } from './pending-write.js';

/** A draining process aborts a model stream that sends nothing for this long; another worker sends the request again. */
const silentModelMs = 3_000;

/** Minimal delay before a moved deadline is checked again. */
const deadlineLookMs = 100;

/** Without batching, every piece of text is written as soon as the previous write has ended. */
const unbatched: FlushPolicy = { intervalMs: 1, chunks: 1, bytes: 1 };

/** Runs claimed jobs until they end, wait, or are released. Owns the slots and the leases of this process. */
@Injectable()
export class JobRunner {
  /** The `lease_owner` of this process in job rows. */
  readonly owner = processName();
  onSlotFree: () => void = () => undefined;
  private readonly clock: Clock = systemClock;
  private readonly keeper: LeaseKeeper;
  private readonly flush: FlushPolicy;
  readonly slots: number;
  private readonly firstByteTimeoutMs: number;
  private readonly active = new Set<Promise<void>>();
  /** Slots reserved for jobs whose claim or acceptance is under way. */
  private reserved = 0;
  private noneReserved: (() => void)[] = [];

  constructor(
    private readonly leases: LeaseRepository,
    private readonly log: EventLog,
    private readonly handlers: JobHandlers,
    private readonly handlerRunner: HandlerRunner,
    config: Config,
  ) {
    const { values } = config;
    const telemetry = handlerRunner.telemetry;
    this.slots = values.WORKER_SLOTS;
    this.firstByteTimeoutMs = values.MODEL_FIRST_BYTE_TIMEOUT_MS;
    this.flush = values.FEATURE_DELTA_BATCHING
      ? { intervalMs: values.DELTA_FLUSH_MS, chunks: values.DELTA_FLUSH_CHUNKS, bytes: values.DELTA_FLUSH_BYTES }
      : unbatched;
    this.keeper = new LeaseKeeper(leases, {
      leaseMs: values.LEASE_MS,
      clock: this.clock,
      logger: telemetry.logger,
      onLost: () => {
        telemetry.leasesLost.inc();
      },
    });
  }

  get freeSlots(): number {
    return this.slots - this.active.size - this.reserved;
  }

  get kinds(): JobKind[] {
    return this.handlers.kinds;
  }

  handles(kind: string): boolean {
    return this.handlers.find(kind) !== undefined;
  }

  /** Reserves free slots for jobs whose claim or acceptance is under way. */
  reserve(count: number): void {
    this.reserved += count;
  }

  /** Call it after the claim, right before its jobs begin. */
  releaseReserved(count: number): void {
    this.reserved -= count;
    if (this.reserved === 0) for (const done of this.noneReserved.splice(0)) done();
  }

  /** Starts to run a claimed job; `claimedAt` is the monotonic instant before the claim was sent. */
  begin(job: ClaimedJob, claimedAt: number): void {
    const { workspaceId, jobId, lastSeq } = job;
    this.log.hint({ workspaceId, jobId, seq: lastSeq, status: 'running' });
    const done = this.run(job, claimedAt).finally(() => {
      this.active.delete(done);
      this.handlerRunner.telemetry.running.set(this.active.size);
      this.onSlotFree();
    });
    this.active.add(done);
    this.handlerRunner.telemetry.running.set(this.active.size);
  }

  /** Cancels the job if this process runs it. */
  cancel(jobId: string, why: string): void {
    this.keeper.find(jobId)?.abort(new JobCancelled(why));
  }

  /** After requests of the workspace changed: reads the settlement counts of its running jobs. */
  lookForAnswers(workspaceId: string): Promise<void> {
    return this.keeper.lookForAnswers(workspaceId);
  }

  /**
   * Resolves when no job runs any more. Releases each job when its round ends, at the latest after `graceMs`, or as soon as the job waits
   * only for a silent model.
   */
  async drain(graceMs: number): Promise<void> {
    if (this.reserved > 0) await new Promise<void>((done) => this.noneReserved.push(done));
    for (const run of this.keeper.items()) run.draining = true;
    const grace = this.clock.after(graceMs, () => {
      for (const run of this.keeper.items()) run.abort(new Draining());
    });
    let silence = this.clock.after(0, () => undefined);
    const releaseSilent = () => {
      for (const run of this.keeper.items()) if (run.activity.isSilentFor(silentModelMs)) run.abort(new Draining());
      silence = this.clock.after(silentModelMs / 10, releaseSilent);
    };
    releaseSilent();
    await Promise.all(this.active);
    silence.cancel();
    grace.cancel();
    await this.log.drain();
  }

  warn(error: unknown, message: string): void {
    this.handlerRunner.telemetry.logger.warn({ err: error }, message);
  }

  private async run(job: ClaimedJob, claimedAt: number): Promise<void> {
    const { workspaceId, jobId, epoch } = job;
    const run = new JobRun(job, {
      log: this.log,
      clock: this.clock,
      flush: this.flush,
      renewLease: async () => (await this.leases.renew([{ workspaceId, jobId, epoch }])).get(jobId),
      isValid: () => lease.isValid(),
    });
    const lease = this.keeper.add(run, claimedAt);
    const deadline = this.watchDeadline(run);
    if (job.cancelRequested) run.abort(new JobCancelled(job.reason ?? undefined));
    try {
      await this.handlerRunner.run(run, this.handlers.of(job));
    } finally {
      deadline.cancel();
      lease.release();
      run.dispose();
    }
  }

  /**
   * Outages of the model provider move the deadline. Only the end of a request shows whether it belongs to an outage, so the deadline waits
   * for a request without a response, at most as long as the first byte may take.
   */
  private watchDeadline(run: JobRun): Pick<Timer, 'cancel'> {
    const endsAt = this.clock.monotonic() + run.job.remainingMs;
    let timer: Timer;
    const look = () => {
      const awaitedMs = Math.min(this.firstByteTimeoutMs, run.activity.awaitedMs);
      const leftMs = endsAt + run.totals.outageMs + awaitedMs - this.clock.monotonic();
      if (leftMs < 1) run.abort(new DeadlineReached());
      else timer = this.clock.after(Math.max(leftMs, deadlineLookMs), look);
    };
    timer = this.clock.after(run.job.remainingMs, look);
    return {
      cancel: () => {
        timer.cancel();
      },
    };
  }
}
