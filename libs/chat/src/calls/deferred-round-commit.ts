import { Draining } from '#jobs';
import { type Clock, type Timer } from '#platform';
import type { ToolOutcome } from '#tools';

import type { CallingRun } from './calling-run.js';
import { type FinishedRound, roundWrite } from './round-write.js';

/** Pure calls that take longer than this are shown as running. */
const timeoutMs = 50;

/**
 * A round whose calls are all `pure`: it need not be on disk before they run, since a lost round is asked again and a lost
 * pure call called again, and nobody can tell. So the round is written once, together with its results, unless a call takes
 * its time: then it is written as it stands, and the rest follows call by call.
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
      // A refused write has aborted the run already.
      this.writing = run.commit(this.toWrite()).catch(() => undefined);
    });
  }

  /** Keeps the outcome for the round's own write; false when that has gone and the outcome has to be written by itself. */
  async take(ordinal: number, outcome: ToolOutcome): Promise<boolean> {
    if (this.writing !== undefined) {
      await this.writing; // a call cannot be settled by the statement that inserts it
      return false;
    }
    this.outcomes.set(ordinal, outcome);
    return true;
  }

  /** A result may be paged by the very next call, so what is kept of it has to be there. */
  get needsDisk(): boolean {
    return [...this.outcomes.values()].some((outcome) => outcome.status === 'completed' && outcome.whole !== undefined);
  }

  /** The run was stopped, and the round is going to be written with all its calls ended. */
  get endsUnwritten(): boolean {
    return this.writing === undefined && this.run.signal.aborted;
  }

  /** All calls have ended, or nothing more may start. */
  close(): void {
    this.timer.cancel();
    if (this.writing !== undefined) return;
    // The job goes on elsewhere, from its last committed round.
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
