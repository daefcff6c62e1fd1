import { Draining } from '#jobs';
import { type Clock, type Timer } from '#platform';
import type { ToolOutcome } from '#tools';

import type { CallingRun } from './calling-run.js';
import { type FinishedRound, roundWrite } from './round-write.js';

/** Calls that take longer than this are written and shown as running, in ms. */
const timeoutMs = 50;

/**
 * A round whose calls are all `pure`. It need not be durable before they run: after a crash the round is requested again and the calls are
 * repeated, without any effect. So the round is written once, together with its results, unless a call takes longer than `timeoutMs`: then
 * the round is written at once, and the results follow call by call.
 */
export class DeferredRoundCommit {
  private readonly outcomes = new Map<number, ToolOutcome>();
  private readonly timer: Timer;
  private writing: Promise<void> | undefined;

  constructor(
    private readonly run: CallingRun,
    private readonly round: FinishedRound,
    clock: Clock,
  ) {
    this.timer = clock.after(timeoutMs, () => {
      // If the write is refused, `commit` aborts the run, so the error needs no handling here.
      this.writing = run.commit(this.toWrite()).catch(() => undefined);
    });
  }

  /** Buffers the outcome for the round's write. Returns false if the round is written, so that the outcome needs a write of its own. */
  async take(ordinal: number, outcome: ToolOutcome): Promise<boolean> {
    if (this.writing !== undefined) {
      await this.writing; // a call cannot be settled by the statement that inserts it
      return false;
    }
    this.outcomes.set(ordinal, outcome);
    return true;
  }

  /** Whether a result is too long for its row. The next call may read it in pages, so the whole text must be durable. */
  get hasLongResult(): boolean {
    return [...this.outcomes.values()].some((outcome) => outcome.status === 'completed' && outcome.whole !== undefined);
  }

  /** The run was aborted before the round was written; all its calls will be written as ended. */
  get wasAbortedUnwritten(): boolean {
    return this.writing === undefined && this.run.signal.aborted;
  }

  /** Call it when all calls have ended, or no further call may start. */
  close(): void {
    this.timer.cancel();
    if (this.writing !== undefined) return;
    // Another worker continues the job from its last committed round.
    if (this.run.signal.reason instanceof Draining) return;
    this.run.append(this.toWrite());
  }

  private toWrite() {
    return roundWrite(
      this.run,
      this.round,
      ({ ordinal }) => this.outcomes.get(ordinal) ?? { status: this.run.signal.aborted ? 'cancelled' : 'running' },
    );
  }
}
