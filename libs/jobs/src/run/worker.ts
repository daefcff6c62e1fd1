import { Inject, Injectable } from '@nestjs/common';

import {
  BUS,
  type Bus,
  type BusMessages,
  type Clock,
  crashpoint,
  type QueueHandler,
  systemClock,
  type Timer,
} from '#platform';

import type { JobKind } from '../job.js';
import type { JobRef } from '../job.js';
import { JobQueue } from '../queue/job-queue.js';
import { Candidates } from './candidates.js';
import { JobRunner } from './job-runner.js';
import { type ClaimedJob, LeaseRepository } from './lease.repository.js';
import { Sweeper } from './sweeper.js';

/** Limit of known unclaimed jobs; beyond it the worker reads the table again. */
const maxCandidates = 5_000;
const claimBatch = 100;
/** Delay before skipped jobs are checked again. A transaction without the lease may have locked their rows. */
const lookAgainMs = 50;
/** Delay before a deferred claim is repeated. */
const claimLaterMs = 5;

/** A slot of this process, reserved for a job that is being accepted here. Call either `begin` or `release`, once. */
export interface Slot {
  /** The `lease_owner` of this process. */
  readonly owner: string;
  /** Starts the job, which was accepted as claimed; `claimedAt` is a monotonic instant before its lease was requested. */
  begin(job: ClaimedJob, claimedAt: number): void;
  release(): void;
}

/**
 * Claims and runs jobs while it has free slots. It claims at once after a hint; if the hint was lost, it claims when pg-boss delivers the
 * message, within a second. While no slot is free it remembers the jobs of hints, so that it gives the next free slots to the workspaces in
 * turn. The sweep finds jobs whose message and hint were lost. Only the claim decides whether a job runs here.
 */
@Injectable()
export class Worker {
  private readonly candidates = new Candidates(maxCandidates);
  /** Deliveries that wait until the worker can claim more jobs. */
  private deliveries: (() => void)[] = [];
  private readonly handlers = new Map<string, QueueHandler>();
  private registering: Promise<void> = Promise.resolve();
  private failedClaims = 0;
  /** Jobs that a claim did not return: another worker claimed them, or their rows were locked. */
  private readonly missed = new Map<string, JobRef>();
  private readonly clock: Clock = systemClock;
  private readonly timers = new Set<Timer>();
  private unsubscribe: (() => void)[] = [];
  private state: 'idle' | 'taking' | 'stopping' = 'idle';
  private claiming: Promise<void> | undefined;

  constructor(
    private readonly leases: LeaseRepository,
    private readonly runner: JobRunner,
    private readonly queue: JobQueue,
    @Inject(BUS) private readonly bus: Bus,
    private readonly sweeper: Sweeper,
  ) {}

  /** Starts to claim jobs of the kinds that have a handler. */
  start(): void {
    if (this.state !== 'idle') return;
    this.state = 'taking';
    this.runner.onSlotFree = () => {
      this.pump();
    };
    this.unsubscribe = [
      this.bus.subscribe('job-runnable', (job) => {
        this.onHint(job);
      }),
      this.bus.subscribe('job-cancel', ({ jobId, why }) => {
        this.runner.cancel(jobId, why);
      }),
      this.bus.subscribe('interrupts-changed', ({ workspaceId }) => {
        this.look(() => this.runner.lookForAnswers(workspaceId));
      }),
      this.bus.onGap(() => {
        for (const handler of this.handlers.values()) handler.wake();
        this.look(() => this.sweep());
      }),
    ];
    this.registering = this.register().catch((error: unknown) => {
      this.runner.warn(error, 'the job queues are not handled');
    });
    this.repeat(
      () => this.sweeper.nextDelayMs(),
      () => this.sweep(),
    );
    this.look(() => this.sweep());
  }

  /**
   * Stops claiming at once, lets rounds finish within `graceMs`, then releases every lease. Resolves when no job of this worker runs any
   * more.
   */
  async stop(graceMs: number): Promise<void> {
    this.state = 'stopping';
    for (const off of this.unsubscribe.splice(0)) off();
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
    await Promise.all([this.stopDeliveries(), this.drain(graceMs)]);
    this.candidates.clear();
  }

  /**
   * Reserves a slot for a job that is being accepted in this process, so that it needs no claim. Returns undefined if no slot is free, or if
   * earlier jobs wait for one; the job is then queued.
   */
  reserve(kind: JobKind): Slot | undefined {
    const { runner, candidates } = this;
    const isFree = runner.freeSlots > 0 && candidates.size === 0 && !candidates.overflowed;
    if (this.state !== 'taking' || !isFree || !runner.handles(kind)) return undefined;
    runner.reserve(1);
    return {
      owner: runner.owner,
      begin: (job, claimedAt) => {
        runner.releaseReserved(1);
        runner.begin(job, claimedAt);
      },
      release: () => {
        runner.releaseReserved(1);
        this.pump();
      },
    };
  }

  /** Looks for work in the tables, independent of messages and hints. */
  async sweep(): Promise<void> {
    for (const ref of await this.sweeper.sweep(claimBatch * 2))
      if (this.runner.handles(ref.kind)) this.candidates.add(ref);
    this.pump();
  }

  private async register(): Promise<void> {
    const batchSize = Math.min(this.runner.slots, claimBatch);
    for (const kind of this.runner.kinds)
      this.handlers.set(kind, await this.queue.handle(kind, batchSize, (jobs) => this.deliver(kind, jobs)));
  }

  private async stopDeliveries(): Promise<void> {
    for (const resume of this.deliveries.splice(0)) resume();
    await this.registering;
    await Promise.all([...this.handlers.values()].map((handler) => handler.stop()));
  }

  private async drain(graceMs: number): Promise<void> {
    await this.claiming;
    await this.runner.drain(graceMs);
  }

  private onHint(job: BusMessages['job-runnable']): void {
    if (!this.runner.handles(job.kind)) return;
    this.candidates.add(job);
    this.pump();
  }

  /** Whether a slot is free, no claim is in progress and no known job waits for one. */
  private get isReady(): boolean {
    return this.claiming === undefined && this.candidates.size === 0 && this.runner.freeSlots > 0;
  }

  /**
   * Handles queue messages. Resolves when each job was claimed, here or elsewhere, and a slot is free for the next jobs. Until then pg-boss
   * fetches no further messages for this process, and delivers these again if the process dies. Rejects if a job was not claimed.
   */
  private async deliver(kind: JobKind, messages: readonly JobRef[]): Promise<void> {
    // Most jobs were claimed after their hint. A job may have two messages.
    const jobs = await this.leases.findClaimable([...new Map(messages.map((job) => [job.jobId, job])).values()]);
    const { failedClaims } = this;
    // Workers with a free slot claim the jobs that this process has no slot for.
    for (const job of jobs.slice(Math.max(0, this.runner.freeSlots - this.candidates.size)))
      this.queue.hint({ ...job, kind });
    for (const job of jobs) this.candidates.add(job);
    this.pump();
    if (!this.isReady && this.state === 'taking') await new Promise<void>((resume) => this.deliveries.push(resume));
    const isLeft = this.failedClaims > failedClaims || jobs.some((job) => this.candidates.has(job));
    if (isLeft) throw new Error('delivered jobs were not claimed');
  }

  /** Runs one claim at a time. Jobs that arrive meanwhile join the next claim. */
  private pump(): void {
    if (this.state !== 'taking' || this.claiming !== undefined) return;
    if (this.isReady) for (const resume of this.deliveries.splice(0)) resume();
    if (this.runner.freeSlots === 0) return;
    if (!this.candidates.isReady) {
      if (this.candidates.size === 0 && this.candidates.overflowed) this.refill();
      return;
    }
    this.claiming = this.claim().finally(() => {
      this.claiming = undefined;
      this.pump();
    });
  }

  /** Some candidates were dropped: reads the table and claims what it finds there. */
  private refill(): void {
    this.candidates.overflowed = false;
    this.claiming = this.leases
      .findRunnable(maxCandidates / 5, 0)
      .then((found) => {
        if (found.length === maxCandidates / 5) this.candidates.overflowed = true;
        for (const ref of found) if (this.runner.handles(ref.kind)) this.candidates.add(ref);
      })
      .catch((error: unknown) => {
        this.runner.warn(error, 'looking for runnable jobs failed');
      })
      .finally(() => {
        this.claiming = undefined;
        this.pump();
      });
  }

  private async claim(): Promise<void> {
    // Hints that arrive in the same turn share the claim.
    await new Promise(setImmediate);
    const refs = this.candidates.take(Math.min(this.runner.freeSlots, claimBatch));
    this.runner.reserve(refs.length);
    const claimedAt = this.clock.monotonic();
    const claim = await this.leases.claim(refs, this.runner.owner).catch((error: unknown) => {
      // The jobs are dropped here; pg-boss delivers them again, or the sweep finds them.
      this.failedClaims += 1;
      this.runner.warn(error, 'claiming jobs failed');
      return null;
    });
    this.runner.releaseReserved(refs.length);
    if (claim === null) return;
    for (const job of claim.claimed) this.runner.begin(job, claimedAt);
    if (claim.deferred.length > 0) this.claimLater(claim.deferred);
    const settled = new Set([...claim.claimed, ...claim.deferred].map(({ jobId }) => jobId));
    if (settled.size < refs.length) this.lookAgain(refs.filter(({ jobId }) => !settled.has(jobId)));
  }

  /** Another process counts the running jobs for a few milliseconds. Waiting for its lock would delay jobs of other workspaces. */
  private claimLater(refs: readonly JobRef[]): void {
    if (this.state !== 'taking') return;
    this.candidates.defer(refs);
    this.after(claimLaterMs, () => {
      this.candidates.resume();
      this.pump();
      return Promise.resolve();
    });
  }

  /**
   * Checks a moment later whether the jobs that a claim did not return are claimable, and claims those. Their queue messages may already be
   * completed, so no other process would claim them soon.
   */
  private lookAgain(refs: readonly JobRef[]): void {
    const isFirst = this.missed.size === 0;
    for (const ref of refs) this.missed.set(ref.jobId, ref);
    if (!isFirst || this.state !== 'taking') return;
    this.after(lookAgainMs, async () => {
      const missed = [...this.missed.values()];
      this.missed.clear();
      for (const ref of await this.leases.findClaimable(missed)) this.candidates.add(ref);
      this.pump();
    });
  }

  /** Runs a search for work. If it fails, a later search repeats it; the jobs stay in the table. */
  private look(run: () => Promise<void>, done: () => void = () => undefined): void {
    run()
      .catch((error: unknown) => {
        this.runner.warn(error, 'looking for work failed');
      })
      .finally(done);
  }

  private repeat(delayMs: () => number, run: () => Promise<void>): void {
    this.after(delayMs(), run, () => {
      if (this.state === 'taking') this.repeat(delayMs, run);
    });
  }

  private after(delayMs: number, run: () => Promise<void>, done?: () => void): void {
    const timer = this.clock.after(delayMs, () => {
      this.timers.delete(timer);
      crashpoint('throw-async');
      this.look(run, done);
    });
    this.timers.add(timer);
  }
}
