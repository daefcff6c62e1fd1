import { crashpoint, defined, type Timer } from '#platform';

import type { JobCounts, JobMove, JobWrite } from '../events/commit-statement.js';
import type { Delta, JobEventBodies } from '../events/job-event.js';
import { CancelRequested, LeaseLost } from '../jobs.errors.js';
import type { JobRunOptions } from './job-run-options.js';
import type { ClaimedJob } from './lease.repository.js';
import { addCounts, type Pending, PendingWrite, type RunWrite, subtractCounts } from './pending-write.js';

/** The next write, until the writer has built its batch: later changes are added to it. */
interface OpenWrite {
  move: JobMove | undefined;
}

/** Refusable writes that wait for the write in flight. They are sent together, because one cause would refuse all of them. */
interface Group {
  readonly writes: RunWrite[];
  readonly sent: Promise<Refusal | undefined>;
}

/** Why a refusable write was refused. `lost`: the lease is lost, or its state is unknown. */
type Refusal = 'cancelled' | 'answered' | 'lost';

/** Limit of the text that is buffered while the database is slow; beyond it the handler stops reading from the model. */
const maxPendingLength = 256 * 1024;

/**
 * Writes to the log under one lease: buffered changes after the flush interval, others at once. At most one write is in flight, and every
 * write carries the epoch. If the fence refuses one, the lease is lost and nothing is written any more.
 *
 * Several parts of a job may write concurrently: each write is stored whole and in order, and a write that a cancel or an answer refuses
 * does not drop other writes.
 */
export class LeaseWriter {
  private readonly pending: PendingWrite;
  private timer: Timer | undefined;
  /** The flush interval ended while a write was in flight: the buffered text is sent right after it. */
  private overdue = false;
  /** When text was last added to a write, on the monotonic clock. */
  private textSentAt = -Infinity;
  private inFlight: Promise<unknown> | undefined;
  /** The write in flight as long as further changes may join it. */
  private openWrite: OpenWrite | undefined;
  private group: Group | undefined;
  private writes = 0;
  private lost: LeaseLost | undefined;
  private cancelledFor: string | undefined;
  /** The number of answers when the handler last read its rows. */
  private externalUpdates: number;
  /** The number of answers, as far as this process knows. */
  private seen: number;
  /** Totals of the whole job, as the next write stores them. */
  readonly totals: { -readonly [Key in keyof JobCounts]: number };

  /** `onLost` is called once, when the lease is lost. */
  constructor(
    private readonly job: ClaimedJob,
    private readonly options: JobRunOptions,
    private readonly onLost: (error: LeaseLost) => void,
  ) {
    this.totals = {
      rounds: job.rounds,
      toolCalls: job.toolCalls,
      ...{ promptTokens: job.promptTokens, completionTokens: job.completionTokens },
      restarts: job.restarts,
      contentLength: job.contentLength,
      outageMs: 0, // only of this claim: the deadline already contains the time of earlier claims
    };
    this.pending = new PendingWrite(options.flush);
    this.externalUpdates = job.externalUpdates;
    this.seen = job.externalUpdates;
  }

  /** Stores the number of answers that was read from the job's row. Returns whether it has grown. */
  noticeAnswers(answered: number): boolean {
    if (answered <= this.seen) return false;
    this.seen = answered;
    return true;
  }

  /** Adds changes to the next write, which is sent with the next commit or after the flush interval. */
  append(write: RunWrite): void {
    this.take(write);
    this.flushLater();
  }

  /** Appends the withdrawal of a round's text, and drops the part of the text that is not sent yet. */
  withdraw(write: RunWrite, restart: JobEventBodies['round-restarted']): void {
    this.pending.withdraw(restart);
    this.append(write);
  }

  /** Sends a piece at once if none was sent during the last flush interval; otherwise buffers it. */
  stream(piece: Delta): Promise<void> | undefined {
    const { clock, flush } = this.options;
    this.pending.addPiece(piece);
    const msLeft = this.textSentAt + flush.intervalMs - clock.monotonic();
    if (this.pending.isDue || msLeft <= 0) this.flushSoon();
    else this.flushLater(msLeft);
    return this.pending.length > maxPendingLength && this.inFlight !== undefined
      ? this.inFlight.then(() => undefined)
      : undefined;
  }

  private flushLater(ms: number = this.options.flush.intervalMs): void {
    this.timer ??= this.options.log.later(ms, () => {
      this.timer = undefined;
      this.flushSoon();
    });
  }

  /** Commits the buffered changes and `write`; durable when it resolves. Throws `LeaseLost` if the fence refused it. */
  async commit(write: RunWrite = {}, move?: JobMove): Promise<void> {
    // Wait for the write in flight: otherwise a flush could send `job-finished` without the status change.
    while (this.inFlight !== undefined && this.openWrite === undefined) await this.inFlight;
    this.assertHeld();
    this.take(write);
    if (this.openWrite !== undefined) {
      if (move !== undefined) this.openWrite.move = move;
      await this.inFlight;
    } else if (!this.pending.isEmpty || move !== undefined) {
      await this.send(move);
    }
    this.assertHeld();
  }

  /**
   * Like `commit`, for writes that start an external effect: throws `CancelRequested` and stores nothing of `write` if a cancel is
   * requested. So no tool starts after a cancel was acknowledged.
   */
  async commitUnlessCancelled(write: RunWrite): Promise<void> {
    if (!this.isWritten(await this.sendTogether(write))) throw this.lose();
  }

  /**
   * Commits `write` and sets the job `waiting`, which releases the slot. Returns false if the job was answered after the handler read its
   * rows: nothing of `write` is stored, the job still runs, and the handler must read its rows again. Throws like `commitUnlessCancelled`.
   */
  async commitWaiting(write: RunWrite): Promise<boolean> {
    while (this.inFlight !== undefined) await this.inFlight;
    this.assertHeld();
    const refusal = await this.sendRefusable([write], { to: 'waiting', externalUpdates: this.externalUpdates });
    this.externalUpdates = this.seen;
    return this.isWritten(refusal);
  }

  /** Cancels the timer. Drops buffered changes: the caller has committed, or lost the lease. */
  dispose(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  get isLost(): boolean {
    return this.lost !== undefined;
  }

  /** Marks the lease as lost; returns the error that every later write throws. `cause`: set if it was not the fence. */
  lose(cause?: unknown): LeaseLost {
    if (this.lost === undefined) {
      this.lost = new LeaseLost(this.job.jobId, cause);
      this.onLost(this.lost);
    }
    return this.lost;
  }

  private flushSoon(): void {
    if (this.inFlight !== undefined) this.overdue = true;
    else if (!this.pending.isEmpty && this.lost === undefined) void this.send(undefined);
  }

  private take(write: RunWrite): void {
    this.pending.add(write);
    if (write.counts !== undefined) Object.assign(this.totals, addCounts(this.totals, write.counts));
  }

  /**
   * Sends the buffered changes as one write, with those that are added before the writer builds its batch. Never rejects: a refusal marks
   * the lease as lost.
   */
  private send(move: JobMove | undefined): Promise<void> {
    const openWrite: OpenWrite = { move };
    this.openWrite = openWrite;
    const source = (): JobWrite => {
      this.openWrite = undefined;
      return this.seal(false, openWrite.move);
    };
    return this.track(this.options.log.commit(source).then(this.countWrite, this.loseTo));
  }

  private sendTogether(write: RunWrite): Promise<Refusal | undefined> {
    if (this.inFlight === undefined) {
      this.assertHeld();
      return this.sendRefusable([write]);
    }
    const writes: RunWrite[] = this.group?.writes ?? [];
    writes.push(write);
    this.group ??= { writes, sent: this.sendGroup(writes) };
    return this.group.sent;
  }

  private async sendGroup(writes: readonly RunWrite[]): Promise<Refusal | undefined> {
    while (this.inFlight !== undefined) await this.inFlight;
    this.group = undefined;
    this.assertHeld();
    return this.sendRefusable(writes);
  }

  /**
   * Sends the buffered changes plus `writes`; only `writes` may be refused, and nothing joins this write later. It counts as in flight until
   * the refused changes are buffered again, so that no later write is sent before them. Never rejects.
   */
  private sendRefusable(writes: readonly RunWrite[], move?: JobMove): Promise<Refusal | undefined> {
    const earlier = this.pending.copy();
    for (const write of writes) this.take(write);
    const sealed = this.seal(true, move);
    const sent = this.options.log
      .commit(() => sealed)
      .then(this.countWrite, async (error: unknown) => {
        const refusal = await this.refusalOf(error, move);
        if (refusal !== 'lost') this.restore(writes, earlier);
        return refusal;
      });
    return this.track(sent);
  }

  private restore(refused: readonly RunWrite[], earlier: Pending): void {
    for (const { counts = {} } of refused) Object.assign(this.totals, subtractCounts(this.totals, counts));
    this.pending.putBack(earlier);
    this.overdue ||= !this.pending.isEmpty;
  }

  private async refusalOf(error: unknown, move: JobMove | undefined): Promise<Refusal> {
    // If the lease cannot be read, treat it as lost: the next claim sees the cancel or the answer.
    const mayAsk = error instanceof LeaseLost && this.lost === undefined;
    const lease = mayAsk ? await this.options.renewLease().catch(() => undefined) : undefined;
    this.seen = lease?.externalUpdates ?? this.seen;
    if (lease?.cancelRequested === true) {
      this.cancelledFor = lease.reason ?? undefined;
      return 'cancelled';
    }
    if (lease !== undefined && move !== undefined && lease.externalUpdates !== this.externalUpdates) return 'answered';
    this.loseTo(error);
    return 'lost';
  }

  private track<Result>(sent: Promise<Result>): Promise<Result> {
    this.dispose();
    const done = sent.then((result) => {
      this.inFlight = undefined;
      this.openWrite = undefined;
      if (this.overdue || this.pending.isDue) this.flushSoon();
      return result;
    });
    this.inFlight = done;
    return done;
  }

  private readonly countWrite = (): undefined => {
    this.writes += 1;
    crashpoint('after-commit');
  };

  private readonly loseTo = (error: unknown): void => {
    this.lose(error instanceof LeaseLost ? error.cause : error);
  };

  private seal(unlessCancelled: boolean, move: JobMove | undefined): JobWrite {
    const { workspaceId, jobId, epoch } = this.job;
    this.overdue = false;
    if (this.pending.length > 0) this.textSentAt = this.options.clock.monotonic();
    return {
      workspaceId,
      jobId,
      epoch,
      number: this.writes + 1,
      attempt: this.totals.restarts - this.pending.restarts,
      ...this.pending.take(),
      unlessCancelled,
      ...defined({ move }),
    };
  }

  private isWritten(refusal: Refusal | undefined): boolean {
    if (refusal === 'cancelled') throw new CancelRequested(this.job.jobId, this.cancelledFor);
    if (refusal === 'lost') throw this.lose();
    return refusal === undefined;
  }

  /** Throws if the lease is known to be lost. */
  private assertHeld(): void {
    if (this.lost !== undefined) throw this.lose();
  }
}
