import { Draining, type JobRun } from '#jobs';
import { systemClock, type Timer } from '#platform';

import type { RunBudget, UsedUp } from './run-budget.js';

/** What a run does about a limit that is reached. */
type Asked =
  | { readonly type: 'waiting'; readonly interruptIds: readonly string[] }
  /** The run must stop. */
  | { readonly type: 'stopped'; readonly message: string };

/**
 * Sees a run reach its limits. That of time is reached while nodes work: then the run is given back like one of a worker that
 * stops, so that a node that hangs does not keep it from asking. Rounds may reach their commit meanwhile.
 */
export class BudgetWatch {
  /** Until more is granted nothing is begun. */
  private exhausted: UsedUp | null = null;
  private timer: Timer | undefined;

  constructor(
    private readonly budget: RunBudget,
    private readonly run: JobRun,
    private readonly terms: {
      readonly workflowName: string;
      /** How long nodes at work may continue. */
      readonly pauseMs: number;
      /** It is time to look again. */
      readonly wake: () => void;
    },
  ) {}

  /** True once: when a limit has been reached. */
  look(): boolean {
    if (this.exhausted !== null) return false;
    this.exhausted = this.budget.usedUp;
    if (this.exhausted?.kind === 'time') this.pause();
    else if (this.exhausted === null) this.lookInTime();
    return this.exhausted !== null;
  }

  /** The steps are counted elsewhere. */
  useUp(steps: number): void {
    this.exhausted ??= { kind: 'steps', used: steps };
  }

  /** For more, where it is needed; null: it is not. */
  ask(): Asked | null {
    if (this.exhausted === null) return null;
    const answer = this.budget.ask(this.terms.workflowName, this.exhausted);
    if (answer.type === 'waiting') return answer;
    const message = `The budget of this workflow is used up. ${this.budget.tell(this.exhausted)}`;
    return { type: 'stopped', message };
  }

  stop(): void {
    this.timer?.cancel();
  }

  private lookInTime(): void {
    const { msLeft } = this.budget;
    if (msLeft === null) return;
    this.timer ??= systemClock.after(Math.max(1, msLeft), () => {
      this.timer = undefined;
      this.terms.wake();
    });
  }

  private pause(): void {
    this.run.draining = true;
    this.timer?.cancel();
    this.timer = systemClock.after(this.terms.pauseMs, () => {
      this.run.abort(new Draining());
    });
  }
}
