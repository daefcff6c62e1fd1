import type { Clock, Timer } from '#platform';

import type { JobCounts, JobMove, JobWrite } from '../events/commit-statement.js';
import { type EventLog } from '../events/event-log.js';
import type { NewJobEvent } from '../events/job-event.js';
import { CancelRequested, LeaseLost } from '../jobs.errors.js';
import type { ClaimedJob, Renewed } from './lease.repository.js';
import { addCounts, PendingWrite, type RunWrite } from './pending-write.js';

/** When waiting text is written: whichever comes first. */
export interface FlushPolicy {
  readonly intervalMs: number;
  readonly chunks: number;
  readonly bytes: number;
}

export interface JobRunOptions {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly flush: FlushPolicy;
  /** Asks the database, after a write was refused, whether that was because of the fence: then there is no answer. */
  readonly askLease: () => Promise<Pick<Renewed, 'cancelRequested' | 'answered'> | undefined>;
  /** Whether the lease is still ours by the monotonic clock. */
  readonly isValid: () => boolean;
}

/** A write on its way to the writer. */
interface Boarding {
  readonly unlessCancelled: boolean;
  move: JobMove | undefined;
}

/** Text held back while the database is slow may grow to this; then the model has to wait. */
const maxPendingLength = 256 * 1024;

/**
 * One lease at work: what a handler writes through. Soft writes (`append`, text) wait for company; `commit` is on disk when
 * it resolves. There is at most one write in flight, and every write carries the epoch: when one is refused the run's
 * signal aborts with `LeaseLost` and nothing is written any more.
 */
export class JobRun {
  private readonly controller = new AbortController();
  private readonly pending = new PendingWrite();
  private timer: Timer | undefined;
  /** The flush interval ended while a write was in flight: what waits goes right after it, even if nothing more comes. */
  private overdue = false;
  private inFlight: Promise<unknown> | undefined;
  /** The write in flight as long as it may still take more along. */
  private boarding: Boarding | undefined;
  private writes = 0;
  private lost: LeaseLost | undefined;
  private offsets: { text: number; reasoning: number };
  private committedText: number;
  private committedReasoning = 0;
  /** Answers from outside that what the handler read has seen. */
  private answered: number;
  private interrupted: NonNullable<ClaimedJob['interrupted']>;
  /** Sums over the whole job, as they will be on its row. */
  readonly totals: { -readonly [Key in keyof JobCounts]: number };
  /** Set when the process wants to stop: return at the next round boundary. */
  draining = false;

  constructor(
    readonly job: ClaimedJob,
    private readonly options: JobRunOptions,
  ) {
    this.totals = {
      rounds: job.rounds,
      toolCalls: job.toolCalls,
      promptTokens: job.promptTokens,
      completionTokens: job.completionTokens,
      restarts: job.restarts,
      contentLength: job.contentLength,
    };
    this.committedText = job.contentLength;
    this.answered = job.answered;
    this.interrupted = job.interrupted ?? [];
    this.offsets = { text: job.contentLength, reasoning: 0 };
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

  /** UTF-16 length of everything shown so far, the open round included. */
  get contentLength(): number {
    return this.offsets.text;
  }

  /** Calls that this claim found started and nobody can vouch for; told once. */
  takeInterrupted(): NonNullable<ClaimedJob['interrupted']> {
    const { interrupted } = this;
    this.interrupted = [];
    return interrupted;
  }

  /** Where reasoning of the committed rounds ends; only known to a handler that resumes. */
  resumeReasoningAt(length: number): void {
    this.committedReasoning = length;
    this.offsets.reasoning = length;
  }

  /** Streams a piece of the open round. Resolves at once, or when a slow database has caught up. */
  text(round: number, text: string): Promise<void> | undefined {
    const offset = this.offsets.text;
    this.offsets.text += text.length;
    return this.delta({ type: 'text-delta', body: { round, offset, text } });
  }

  reasoning(round: number, text: string): Promise<void> | undefined {
    const offset = this.offsets.reasoning;
    this.offsets.reasoning += text.length;
    return this.delta({ type: 'reasoning-delta', body: { round, offset, text } });
  }

  /** The open round's text now belongs to the committed content; call with the write that commits the round. */
  closeRound(): number {
    const grown = this.offsets.text - this.committedText;
    this.committedText = this.offsets.text;
    this.committedReasoning = this.offsets.reasoning;
    return grown;
  }

  /** Withdraws what the open round has shown; the round will be asked again. */
  restartRound(round: number, reason: string): void {
    this.offsets = { text: this.committedText, reasoning: this.committedReasoning };
    this.pending.dropDeltas(round);
    this.append({
      events: [
        {
          type: 'round-restarted',
          body: { round, reason, contentLength: this.committedText, reasoningLength: this.committedReasoning },
        },
      ],
      counts: { restarts: 1 },
    });
  }

  /** Adds to the next write without asking for one soon: it goes with the next commit, or after the flush interval. */
  append(write: RunWrite): void {
    this.take(write);
    this.timer ??= this.options.clock.after(this.options.flush.intervalMs, () => {
      this.timer = undefined;
      if (this.inFlight === undefined) this.flushSoon();
      else this.overdue = true;
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
      this.assertHeld();
      return;
    }
    if (this.pending.isEmpty && move === undefined) return;
    await this.send({ unlessCancelled: false, move });
    this.assertHeld();
  }

  /**
   * Like `commit`, for writes that start something outside: refused with `CancelRequested`, nothing of `write` stored, once
   * a cancel was asked for. No tool starts after a cancel's acknowledgement.
   */
  async commitUnlessCancelled(write: RunWrite): Promise<void> {
    if (!(await this.commitIfUnchanged(write))) throw this.lose();
  }

  /**
   * Gives the slot back while somebody is awaited; `write` goes along. False when an answer came since the handler read its
   * rows: nothing of `write` is stored, the job still runs, and the handler has to look again. Throws as `commitUnlessCancelled`.
   */
  commitWaiting(write: RunWrite): Promise<boolean> {
    return this.commitIfUnchanged(write, { to: 'waiting', answered: this.answered });
  }

  private async commitIfUnchanged(write: RunWrite, move?: JobMove): Promise<boolean> {
    while (this.inFlight !== undefined) await this.inFlight;
    this.assertHeld();
    const before = { pending: this.pending.copy(), totals: { ...this.totals } };
    this.take(write);
    if (await this.send({ unlessCancelled: true, move })) return true;
    // When even that cannot be asked, the lease is as good as lost: the next claim sees the cancel or the answer.
    const lease = this.lost === undefined ? await this.options.askLease().catch(() => undefined) : undefined;
    const wasAnswered = lease !== undefined && lease.answered !== this.answered;
    if (lease === undefined || !(lease.cancelRequested || wasAnswered)) throw this.lose();
    Object.assign(this.totals, before.totals);
    this.pending.putBack(before.pending);
    this.answered = lease.answered;
    if (lease.cancelRequested) throw new CancelRequested(this.job.jobId);
    return false;
  }

  /** Frees the timer. What still waits is dropped: the caller has committed or lost the lease. */
  dispose(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** Marks the lease as gone and aborts the work; returns what writers then throw. */
  lose(): LeaseLost {
    this.lost ??= new LeaseLost(this.job.jobId);
    this.abort(this.lost);
    return this.lost;
  }

  private delta(event: NewJobEvent & { body: { text: string } }): Promise<void> | undefined {
    this.append({ events: [event] });
    this.pending.chunks += 1;
    this.pending.length += event.body.text.length;
    if (this.isFlushDue) this.flushSoon();
    return this.pending.length > maxPendingLength && this.inFlight !== undefined
      ? this.inFlight.then(() => undefined)
      : undefined;
  }

  private get isFlushDue(): boolean {
    const { chunks, bytes } = this.options.flush;
    return this.pending.chunks >= chunks || this.pending.length >= bytes;
  }

  private flushSoon(): void {
    if (this.inFlight !== undefined || this.pending.isEmpty || this.lost !== undefined) return;
    void this.send({ unlessCancelled: false, move: undefined });
  }

  private take(write: RunWrite): void {
    this.pending.add(write);
    if (write.counts !== undefined) Object.assign(this.totals, addCounts(this.totals, write.counts));
  }

  /**
   * Sends everything waiting as one write; false: refused. Never rejects: a refusal marks the lease as lost, unless a cancel
   * may be the reason for it. What is added before the writer puts its batch together goes along, except into a write that
   * may be refused by itself.
   */
  private send(options: Boarding): Promise<boolean> {
    this.timer?.cancel();
    this.timer = undefined;
    const sealed = options.unlessCancelled ? this.seal(options) : undefined;
    if (sealed === undefined) this.boarding = options;
    const source = (): JobWrite => {
      this.boarding = undefined;
      return sealed ?? this.seal(options);
    };
    const sent = this.options.log.commit(source).then(
      () => {
        this.writes += 1;
        return true;
      },
      (error: unknown) => {
        if (options.unlessCancelled && error instanceof LeaseLost) return false;
        this.lost ??= error instanceof LeaseLost ? error : new LeaseLost(this.job.jobId, error);
        this.abort(this.lost);
        return false;
      },
    );
    const done = sent.then((written) => {
      this.inFlight = undefined;
      this.boarding = undefined;
      if (this.overdue || this.isFlushDue) this.flushSoon();
      return written;
    });
    this.inFlight = done;
    return done;
  }

  private seal({ unlessCancelled, move }: Boarding): JobWrite {
    const { workspaceId, jobId, epoch } = this.job;
    this.overdue = false;
    return {
      workspaceId,
      jobId,
      epoch,
      number: this.writes + 1,
      attempt: this.totals.restarts,
      ...this.pending.take(),
      unlessCancelled,
      ...(move === undefined ? {} : { move }),
    };
  }

  private assertHeld(): void {
    if (this.lost !== undefined) throw this.lose();
  }
}
