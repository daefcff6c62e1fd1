import type { JobRun } from '#jobs';

import type { StopPolicy } from '../definition/document.js';
import type { PersonAnswer } from '../nodes/node-executor.js';
import type { NodeQuestions } from './node-questions.js';

/** What a run may use before a person is asked whether it goes on. Each yes grants as much again. */
export class RunBudget {
  /** How often more was granted. */
  grants = 0;

  constructor(
    private readonly policy: StopPolicy,
    private readonly run: JobRun,
    private readonly clock: {
      /** Ms that earlier leases worked; waiting is not counted. */
      readonly workedMs: number;
      /** Since when this one works. */
      readonly enteredAt: number;
      readonly now: () => number;
    },
  ) {}

  /** Which limit of the runner's is used up, as people read it; null: none. Steps are counted by the engine. */
  get usedUp(): string | null {
    const { maxTokens, maxDurationMs } = this.policy;
    const { promptTokens, completionTokens } = this.run.totals;
    const times = this.grants + 1;
    if (maxTokens !== undefined && promptTokens + completionTokens >= maxTokens * times)
      return `${maxTokens * times} tokens`;
    const worked = this.clock.workedMs + this.clock.now() - this.clock.enteredAt;
    if (maxDurationMs !== undefined && worked >= maxDurationMs * times) return `${maxDurationMs * times} ms of work`;
    return null;
  }

  /** Asks whether it may go on; what is answered already counts. */
  ask(questions: NodeQuestions, about: { readonly workflowName: string; readonly limit: string }): PersonAnswer {
    const row = { ordinal: 0, nodeId: '', path: [], label: about.workflowName, input: '' };
    const view = { workflowName: about.workflowName, sessionId: this.run.job.threadId ?? this.run.job.jobId };
    return questions.ask(
      { row, view },
      {
        key: budgetKey(this.grants + 1),
        mode: 'approval',
        title: `"${about.workflowName}" has used up its budget`,
        prompt: `It has used ${about.limit}. May it use as much again?`,
        options: [
          { id: 'continue', label: 'Continue', action: 'approve' },
          { id: 'stop', label: 'Stop', action: 'reject' },
        ],
        defaultAction: 'reject',
      },
      this.clock.now(),
    );
  }
}

/** The question that comes before grant `n`. */
export function budgetKey(n: number): string {
  return `budget@${n}`;
}

/** How often more was granted by now. */
export function grantsIn(questions: NodeQuestions): number {
  for (let n = 1; ; n++) {
    const asked = questions.find(0, budgetKey(n));
    if (asked?.status !== 'resolved' || asked.outcome?.outcome !== 'approve') return n - 1;
  }
}
