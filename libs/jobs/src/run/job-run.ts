import type { JobCounts, JobMove } from '../events/commit-statement.js';
import type { LeaseLost } from '../jobs.errors.js';
import type { ShownTexts } from '../text/shown-texts.js';
import type { TextPlace } from '../text/text-place.js';
import type { JobRunOptions } from './job-run-options.js';
import type { ClaimedJob } from './lease.repository.js';
import { LeaseWriter } from './lease-writer.js';
import type { RunWrite } from './pending-write.js';
import { RunActivity } from './run-activity.js';
import { RunText } from './run-text.js';

/**
 * The handler's interface to its job: the claim, the signal, the streamed text and the writes. `append` and streamed text are buffered; `commit`
 * is durable when it resolves. If the lease is lost, the signal aborts with `LeaseLost`.
 */
export class JobRun {
  private readonly controller = new AbortController();
  private readonly writer: LeaseWriter;
  private readonly shown: RunText;
  private interrupted: NonNullable<ClaimedJob['interrupted']>;
  /** The model responses and tools that the handler waits for; a draining process reads it. */
  readonly activity: RunActivity;
  /** Set when the process drains: the handler returns at the next round boundary. */
  draining = false;
  /** Called when an open request may be settled. A handler sets it if it works while requests are open. */
  onAnswered: (() => void) | undefined;

  constructor(
    readonly job: ClaimedJob,
    private readonly options: JobRunOptions,
  ) {
    this.writer = new LeaseWriter(job, options, (error) => {
      this.abort(error);
    });
    this.shown = new RunText(job.contentLength);
    this.interrupted = job.interrupted ?? [];
    this.activity = new RunActivity(options.clock);
  }

  /** Totals of the whole job, as the next write stores them. */
  get totals(): { -readonly [Key in keyof JobCounts]: number } {
    return this.writer.totals;
  }

  /** Aborts on a lost lease, a cancel, the deadline, or at the end of a drain; `signal.reason` is the cause. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(reason: Error): void {
    if (!this.controller.signal.aborted) this.controller.abort(reason);
  }

  /**
   * Call it before every external effect. Throws `LeaseLost` if the lease may have expired: a suspended process can resume at any line, before
   * the timer of its lease fires.
   */
  assertValid(): void {
    if (this.writer.isLost || !this.options.isValid()) throw this.lose();
  }

  /** Stores the number of answers that was read from the job's row. */
  noticeAnswers(answered: number): void {
    if (this.writer.noticeAnswers(answered)) this.onAnswered?.();
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

  /** Sets the length of the reasoning of the committed rounds. For a handler that resumes a job. */
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
    return this.writer.stream(this.shown.text(round, text, place));
  }

  reasoning(round: number, text: string, place?: TextPlace): Promise<void> | undefined {
    return this.writer.stream(this.shown.reasoning(round, text, place));
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
    this.writer.withdraw({ events, counts: { restarts: 1 } }, events[0].body);
  }

  /** Adds changes to the next write, which is sent with the next commit or after the flush interval. */
  append(write: RunWrite): void {
    this.writer.append(write);
  }

  /** Commits the buffered changes and `write`; durable when it resolves. Throws `LeaseLost` if the fence refused it. */
  commit(write: RunWrite = {}, move?: JobMove): Promise<void> {
    return this.writer.commit(write, move);
  }

  /**
   * Like `commit`, for writes that start an external effect: throws `CancelRequested` and stores nothing of `write` if a cancel is
   * requested. So no tool starts after a cancel was acknowledged.
   */
  commitUnlessCancelled(write: RunWrite): Promise<void> {
    return this.writer.commitUnlessCancelled(write);
  }

  /**
   * Commits `write` and sets the job `waiting`, which releases the slot. Returns false if the job was answered after the handler read its
   * rows: nothing of `write` is stored, the job still runs, and the handler must read its rows again. Throws like `commitUnlessCancelled`.
   */
  commitWaiting(write: RunWrite): Promise<boolean> {
    return this.writer.commitWaiting(write);
  }

  /** Cancels the timer of the writer. Drops buffered changes: the caller has committed, or lost the lease. */
  dispose(): void {
    this.writer.dispose();
  }

  /** Marks the lease as lost and aborts the work; returns the error that writers then throw. `cause`: set if it was not the fence. */
  lose(cause?: unknown): LeaseLost {
    return this.writer.lose(cause);
  }
}
