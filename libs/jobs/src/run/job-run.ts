import { crashpoint, type Timer } from '#platform';

import type { JobCounts, JobMove, JobWrite } from '../events/commit-statement.js';
import type { Delta } from '../events/job-event.js';
import { CancelRequested, LeaseLost } from '../jobs.errors.js';
import type { ShownTexts } from '../text/shown-texts.js';
import type { TextPlace } from '../text/text-place.js';
import type { JobRunOptions } from './job-run-options.js';
import type { ClaimedJob } from './lease.repository.js';
import { addCounts, type Pending, PendingWrite, type RunWrite, subtractCounts } from './pending-write.js';
import { RunActivity } from './run-activity.js';
import { RunText } from './run-text.js';

/** The next write while the writer has not built its batch: further changes still join it. */
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
 * The writes of a handler under one lease. Soft writes (`append`, text) are buffered; `commit` is durable when it resolves. At most one
 * write is in flight, and every write carries the epoch: if one is refused, the run's signal aborts with `LeaseLost` and nothing is
 * written any more.
 *
 * Several parts of a job may write concurrently: each write is stored whole and in order, and a write that a cancel or an answer refuses
 * does not drop other writes.
 */
export class JobRun {
  private readonly controller = new AbortController();
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
  private readonly shown: RunText;
  /** How often the job was answered when the handler last read its rows. */
  private answered: number;
  /** How often the job was answered, as far as this process knows. */
  private seen: number;
  private interrupted: NonNullable<ClaimedJob['interrupted']>;
  /** What the handler waits for; a draining process reads it. */
  readonly activity: RunActivity;
  /** Totals of the whole job, as the next write stores them. */
  readonly totals: { -readonly [Key in keyof JobCounts]: number };
  /** Set when the process drains: the handler returns at the next round boundary. */
  draining = false;
  /** For a handler that works while requests are open: called when one of them may be settled. */
  onAnswered: (() => void) | undefined;

  constructor(
    readonly job: ClaimedJob,
    private readonly options: JobRunOptions,
  ) {
    this.totals = {
      rounds: job.rounds,
      toolCalls: job.toolCalls,
      ...{ promptTokens: job.promptTokens, completionTokens: job.completionTokens },
      restarts: job.restarts,
      contentLength: job.contentLength,
      outageMs: 0, // of this claim only: earlier ones are part of the deadline
    };
    this.pending = new PendingWrite(options.flush);
    this.shown = new RunText(job.contentLength);
    this.answered = job.answered;
    this.seen = job.answered;
    this.interrupted = job.interrupted ?? [];
    this.activity = new RunActivity(options.clock);
  }

  /** Aborts on a lost lease, a cancel, the deadline, or at the end of a drain; `signal.reason` is the cause. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(reason: Error): void {
    if (!this.controller.signal.aborted) this.controller.abort(reason);
  }

  /**
   * Call it before every external effect. A paused process may resume anywhere, and before its timers fire: throws `LeaseLost` if the lease
   * may have expired.
   */
  assertValid(): void {
    if (this.lost !== undefined || !this.options.isValid()) throw this.lose();
  }

  /** Reports how often the job was answered, as read from its row. */
  noticeAnswers(answered: number): void {
    if (answered <= this.seen) return;
    this.seen = answered;
    this.onAnswered?.();
  }

  /** UTF-16 length of the content shown so far, open rounds included. */
  get contentLength(): number {
    return this.shown.contentLength;
  }

  /** Calls that were running at this claim and whose outcome is unknown; returned once. */
  takeInterrupted(): NonNullable<ClaimedJob['interrupted']> {
    const { interrupted } = this;
    this.interrupted = [];
    return interrupted;
  }

  /** Where the reasoning of the committed rounds ends; for a handler that resumes a job. */
  resumeReasoningAt(length: number): void {
    this.shown.resumeReasoningAt(length);
  }

  /**
   * For a handler with concurrent rounds that resumes a job: takes over the text of the log (`ShownTextsRepository`) and withdraws the
   * unfinished rounds. May be called again once everything is committed.
   */
  resumeText(shown: ShownTexts): void {
    this.shown.resume(shown);
    for (const [round, place] of shown.open) this.restartRound(round, 'worker_lost', place);
  }

  /**
   * Streams a piece of an open round; without a place it is content of the job. Resolves at once, or when a slow database has caught up.
   */
  text(round: number, text: string, place?: TextPlace): Promise<void> | undefined {
    return this.stream(this.shown.text(round, text, place));
  }

  reasoning(round: number, text: string, place?: TextPlace): Promise<void> | undefined {
    return this.stream(this.shown.reasoning(round, text, place));
  }

  /**
   * Makes the round's text part of the committed content; call it with the write that commits the round. Returns the length that it adds to
   * the content: 0 for text that is not content.
   */
  closeRound(round: number): number {
    return this.shown.close(round);
  }

  /** Withdraws the text of an open round, which is then requested again or never finished. */
  restartRound(round: number, reason: string, place?: TextPlace): void {
    const events = this.shown.restart(round, reason, place);
    this.pending.withdraw(events[0].body);
    this.append({ events, counts: { restarts: 1 } });
  }

  /** Adds to the next write, which is sent with the next commit or after the flush interval. */
  append(write: RunWrite): void {
    this.take(write);
    this.flushLater();
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
   * Commits `write` and sets the job `waiting`, which releases the slot. False: the job was answered after the handler read its rows;
   * nothing of `write` is stored, the job still runs, and the handler must read its rows again. Throws like `commitUnlessCancelled`.
   */
  async commitWaiting(write: RunWrite): Promise<boolean> {
    while (this.inFlight !== undefined) await this.inFlight;
    this.assertHeld();
    const refusal = await this.sendRefusable([write], { to: 'waiting', answered: this.answered });
    this.answered = this.seen;
    return this.isWritten(refusal);
  }

  /** Cancels the timer. Drops buffered changes: the caller has committed, or lost the lease. */
  dispose(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** Marks the lease as lost and aborts the work; returns the error that writers then throw. `cause`: set if it was not the fence. */
  lose(cause?: unknown): LeaseLost {
    this.lost ??= new LeaseLost(this.job.jobId, cause);
    this.abort(this.lost);
    return this.lost;
  }

  /** Sends the first text at once, and every piece of a slow model; buffers faster text. */
  private stream(piece: Delta): Promise<void> | undefined {
    const { clock, flush } = this.options;
    this.pending.addPiece(piece);
    const msLeft = this.textSentAt + flush.intervalMs - clock.monotonic();
    if (this.pending.isDue || msLeft <= 0) this.flushSoon();
    else this.flushLater(msLeft);
    return this.pending.length > maxPendingLength && this.inFlight !== undefined
      ? this.inFlight.then(() => undefined)
      : undefined;
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
    const lease = mayAsk ? await this.options.askLease().catch(() => undefined) : undefined;
    this.seen = lease?.answered ?? this.seen;
    if (lease?.cancelRequested === true) {
      this.cancelledFor = lease.reason ?? undefined;
      return 'cancelled';
    }
    if (lease !== undefined && move !== undefined && lease.answered !== this.answered) return 'answered';
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
    this.lost ??= error instanceof LeaseLost ? error : new LeaseLost(this.job.jobId, error);
    this.abort(this.lost);
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
      ...(move === undefined ? {} : { move }),
    };
  }

  private isWritten(refusal: Refusal | undefined): boolean {
    if (refusal === 'cancelled') throw new CancelRequested(this.job.jobId, this.cancelledFor);
    if (refusal === 'lost') throw this.lose();
    return refusal === undefined;
  }

  private assertHeld(): void {
    if (this.lost !== undefined) throw this.lose();
  }
}
