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

/** A write on its way to the writer that still takes more along. */
interface Boarding {
  move: JobMove | undefined;
}

/** Writes that mind a cancel and wait for the one in flight: they go together, since all of them would be refused together. */
interface Group {
  readonly writes: RunWrite[];
  readonly sent: Promise<Refusal | undefined>;
}

/** Why a write that minded something was refused. `lost`: the lease is gone, or nobody knows. */
type Refusal = 'cancelled' | 'answered' | 'lost';

/** Text held back while the database is slow may grow to this; then the model has to wait. */
const maxPendingLength = 256 * 1024;

/**
 * One lease at work: what a handler writes through. Soft writes (`append`, text) wait for company; `commit` is on disk when
 * it resolves. There is at most one write in flight, and every write carries the epoch: when one is refused the run's
 * signal aborts with `LeaseLost` and nothing is written any more.
 *
 * Several parts of a job may write at once: what one of them hands over is stored whole and in its order, and a write that
 * is refused because of a cancel or an answer takes nothing of the others with it.
 */
export class JobRun {
  private readonly controller = new AbortController();
  private readonly pending: PendingWrite;
  private timer: Timer | undefined;
  /** What waits could go while a write was in flight: it goes right after it, even if nothing more comes. */
  private overdue = false;
  /** When text was last sealed into a write, on the clock that never jumps. */
  private textSentAt = -Infinity;
  private inFlight: Promise<unknown> | undefined;
  /** The write in flight as long as it may still take more along. */
  private boarding: Boarding | undefined;
  private group: Group | undefined;
  private writes = 0;
  private lost: LeaseLost | undefined;
  private cancelledFor: string | undefined;
  private readonly shown: RunText;
  /** Answers from outside that what the handler read has seen. */
  private answered: number;
  /** Answers from outside that are known of. */
  private seen: number;
  private interrupted: NonNullable<ClaimedJob['interrupted']>;
  /** What the handler waits for; a process that stops looks at it. */
  readonly activity: RunActivity;
  /** Sums over the whole job, as they will be on its row. */
  readonly totals: { -readonly [Key in keyof JobCounts]: number };
  /** Set when the process wants to stop: return at the next round boundary. */
  draining = false;
  /** For a handler that goes on with other things while somebody is awaited: called when an answer may have come. */
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
      outageMs: 0, // of this claim: earlier ones have moved the deadline that the claim gave
    };
    this.pending = new PendingWrite(options.flush);
    this.shown = new RunText(job.contentLength);
    this.answered = job.answered;
    this.seen = job.answered;
    this.interrupted = job.interrupted ?? [];
    this.activity = new RunActivity(options.clock);
  }

  /** Aborts on a lost lease, a cancel, the deadline or the end of a drain; `signal.reason` says which. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(reason: Error): void {
    if (!this.controller.signal.aborted) this.controller.abort(reason);
  }

  /**
   * Call before anything goes outside. A process that was paused wakes up anywhere, and before its timers: throws `LeaseLost`
   * when the lease may be over by now.
   */
  assertValid(): void {
    if (this.lost !== undefined || !this.options.isValid()) throw this.lose();
  }

  /** What a look at the lease told: how often the job was answered from outside by now. */
  noticeAnswers(answered: number): void {
    if (answered <= this.seen) return;
    this.seen = answered;
    this.onAnswered?.();
  }

  /** UTF-16 length of everything shown so far as content, the open rounds included. */
  get contentLength(): number {
    return this.shown.contentLength;
  }

  /** Calls that this claim found started and nobody can vouch for; told once. */
  takeInterrupted(): NonNullable<ClaimedJob['interrupted']> {
    const { interrupted } = this;
    this.interrupted = [];
    return interrupted;
  }

  /** Where reasoning of the committed rounds ends; only known to a handler that resumes. */
  resumeReasoningAt(length: number): void {
    this.shown.resumeReasoningAt(length);
  }

  /**
   * For a handler whose rounds may be open at once, when it resumes: takes over what the log shows (`ShownTextsRepository`)
   * and withdraws the rounds that nobody finished. May be called again once everything is committed.
   */
  resumeText(shown: ShownTexts): void {
    this.shown.resume(shown);
    for (const [round, place] of shown.open) this.restartRound(round, 'worker_lost', place);
  }

  /**
   * Streams a piece of an open round; without a place it is content of the job. Resolves at once, or when a slow database
   * has caught up.
   */
  text(round: number, text: string, place?: TextPlace): Promise<void> | undefined {
    return this.stream(this.shown.text(round, text, place));
  }

  reasoning(round: number, text: string, place?: TextPlace): Promise<void> | undefined {
    return this.stream(this.shown.reasoning(round, text, place));
  }

  /**
   * The round's text now belongs to the committed content; call with the write that commits the round. Gives by how much
   * the content grows: 0 for text that is not content.
   */
  closeRound(round: number): number {
    return this.shown.close(round);
  }

  /** Withdraws what an open round has shown; it will be asked again, or never finished. */
  restartRound(round: number, reason: string, place?: TextPlace): void {
    const events = this.shown.restart(round, reason, place);
    this.pending.withdraw(events[0].body);
    this.append({ events, counts: { restarts: 1 } });
  }

  /** Adds to the next write without asking for one soon: it goes with the next commit, or after the flush interval. */
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

  /** Writes everything waiting plus `write`; on disk when it resolves. Throws `LeaseLost` when the fence refused it. */
  async commit(write: RunWrite = {}, move?: JobMove): Promise<void> {
    // Added only once it can go as a whole: a flush in between must not take the events of an end without its move.
    while (this.inFlight !== undefined && this.boarding === undefined) await this.inFlight;
    this.assertHeld();
    this.take(write);
    if (this.boarding !== undefined) {
      if (move !== undefined) this.boarding.move = move;
      await this.inFlight;
    } else if (!this.pending.isEmpty || move !== undefined) {
      await this.send(move);
    }
    this.assertHeld();
  }

  /**
   * Like `commit`, for writes that start something outside: refused with `CancelRequested`, nothing of `write` stored, once
   * a cancel was asked for. No tool starts after a cancel's acknowledgement.
   */
  async commitUnlessCancelled(write: RunWrite): Promise<void> {
    if (!this.isWritten(await this.sendTogether(write))) throw this.lose();
  }

  /**
   * Gives the slot back while somebody is awaited; `write` goes along. False when an answer came since the handler read its
   * rows: nothing of `write` is stored, the job still runs, and the handler has to look again. Throws as `commitUnlessCancelled`.
   */
  async commitWaiting(write: RunWrite): Promise<boolean> {
    while (this.inFlight !== undefined) await this.inFlight;
    this.assertHeld();
    const refusal = await this.sendMinding([write], { to: 'waiting', answered: this.answered });
    this.answered = this.seen;
    return this.isWritten(refusal);
  }

  /** Frees the timer. What still waits is dropped: the caller has committed or lost the lease. */
  dispose(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** Marks the lease as gone and aborts the work; returns what writers then throw. `cause`: why, when it was not the fence. */
  lose(cause?: unknown): LeaseLost {
    this.lost ??= new LeaseLost(this.job.jobId, cause);
    this.abort(this.lost);
    return this.lost;
  }

  /** The first words go at once, and so does all of a slow model; what comes faster is gathered. */
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
   * Sends everything waiting as one write, with what is added before the writer puts its batch together. Never rejects: a
   * refusal marks the lease as lost.
   */
  private send(move: JobMove | undefined): Promise<void> {
    const boarding: Boarding = { move };
    this.boarding = boarding;
    const source = (): JobWrite => {
      this.boarding = undefined;
      return this.seal(false, boarding.move);
    };
    return this.fly(this.options.log.commit(source).then(this.countWrite, this.loseTo));
  }

  private sendTogether(write: RunWrite): Promise<Refusal | undefined> {
    if (this.inFlight === undefined) {
      this.assertHeld();
      return this.sendMinding([write]);
    }
    const writes: RunWrite[] = this.group?.writes ?? [];
    writes.push(write);
    this.group ??= { writes, sent: this.depart(writes) };
    return this.group.sent;
  }

  private async depart(writes: readonly RunWrite[]): Promise<Refusal | undefined> {
    while (this.inFlight !== undefined) await this.inFlight;
    this.group = undefined;
    this.assertHeld();
    return this.sendMinding(writes);
  }

  /**
   * Sends everything waiting plus `writes`, which may be refused by themselves, and takes nothing along. It counts as in
   * flight until what was refused is put back, so that nothing overtakes that. Never rejects.
   */
  private sendMinding(writes: readonly RunWrite[], move?: JobMove): Promise<Refusal | undefined> {
    const earlier = this.pending.copy();
    for (const write of writes) this.take(write);
    const sealed = this.seal(true, move);
    const sent = this.options.log
      .commit(() => sealed)
      .then(this.countWrite, async (error: unknown) => {
        const refusal = await this.refusalOf(error, move);
        if (refusal !== 'lost') this.takeBack(writes, earlier);
        return refusal;
      });
    return this.fly(sent);
  }

  private takeBack(refused: readonly RunWrite[], earlier: Pending): void {
    for (const { counts = {} } of refused) Object.assign(this.totals, subtractCounts(this.totals, counts));
    this.pending.putBack(earlier);
    this.overdue ||= !this.pending.isEmpty;
  }

  private async refusalOf(error: unknown, move: JobMove | undefined): Promise<Refusal> {
    // When even that cannot be asked, the lease is as good as lost: the next claim sees the cancel or the answer.
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

  private fly<Result>(sent: Promise<Result>): Promise<Result> {
    this.dispose();
    const done = sent.then((result) => {
      this.inFlight = undefined;
      this.boarding = undefined;
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
