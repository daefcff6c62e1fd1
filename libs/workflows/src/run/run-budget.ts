import type { JobRun } from '#jobs';

import type { StopPolicy } from '../definition/document.js';
import { type RunSpending, toUsd } from '../definitions/run-spending.js';
import type { PersonAnswer } from '../engine/node-executor.js';
import type { NodeQuestions } from './node-questions.js';

type Kind = 'steps' | 'tokens' | 'time' | 'cost';

/** A limit that is reached. */
export interface UsedUp {
  readonly kind: Kind;
  readonly used: number;
}

const units: Readonly<Record<Kind, string>> = { steps: 'steps', tokens: 'tokens', time: 'ms of work', cost: 'USD' };

/** Questions about the budget belong to no node run. */
const NO_NODE = 0;

/**
 * What a run may use before it asks a person whether it continues. Each approval grants the same amount again, on top of the usage
 * at that time: the number in the question's key.
 */
export class RunBudget {
  constructor(
    private readonly policy: StopPolicy,
    private readonly run: JobRun,
    private readonly terms: {
      readonly questions: NodeQuestions;
      /** Of the run's models and those of jobs below it. */
      readonly spending: RunSpending;
      /** Ms that earlier leases worked; waiting is not counted. */
      readonly workedMs: number;
      /** Since when this one works. */
      readonly enteredAt: number;
      readonly now: () => number;
    },
  ) {}

  /** Nodes that may be executed, what was granted included; null: as many as there are. */
  get maxSteps(): number | null {
    return this.granted('steps');
  }

  /** Which limit of the runner's is reached; null: none. Steps are counted by the engine. */
  get usedUp(): UsedUp | null {
    const { promptTokens, completionTokens } = this.run.totals;
    const { spending } = this.terms;
    const all: readonly UsedUp[] = [
      { kind: 'tokens', used: promptTokens + completionTokens + spending.tokensBelow },
      { kind: 'cost', used: spending.usd },
      { kind: 'time', used: this.msUsed },
    ];
    return all.find(({ kind, used }) => used >= (this.granted(kind) ?? Infinity)) ?? null;
  }

  /** How long it may still work; null: as long as it wants. */
  get msLeft(): number | null {
    const granted = this.granted('time');
    return granted === null ? null : Math.max(0, granted - this.msUsed);
  }

  /** Asks whether the run may continue; an existing answer counts at once. */
  ask(workflowName: string, { kind, used }: UsedUp): PersonAnswer {
    const asked = this.questionsOf(kind).find(({ isApproved }) => !isApproved);
    const row = { ordinal: NO_NODE, nodeId: '', path: [], label: workflowName, input: '' };
    const view = { workflowName, sessionId: this.run.job.threadId ?? this.run.job.jobId };
    const more = `${this.amountOf(kind) ?? 0} ${units[kind]}`;
    return this.terms.questions.ask(
      { row, view },
      {
        key: asked?.key ?? `${kind}@${used}`,
        mode: 'approval',
        title: `"${workflowName}" has used up its budget`,
        prompt: `${this.tell({ kind, used })} May it use ${more} more?`,
        options: [
          { id: 'continue', label: 'Continue', action: 'approve' },
          { id: 'stop', label: 'Stop', action: 'reject' },
        ],
        defaultAction: 'reject',
      },
      this.terms.now(),
    );
  }

  /** As people read it. */
  tell({ kind, used }: UsedUp): string {
    return `It has used ${used} of ${this.granted(kind) ?? used} ${units[kind]}.`;
  }

  private get msUsed(): number {
    const { workedMs, enteredAt, now } = this.terms;
    return workedMs + now() - enteredAt;
  }

  private granted(kind: Kind): number | null {
    const amount = this.amountOf(kind);
    if (amount === null) return null;
    const approved = this.questionsOf(kind).filter(({ isApproved }) => isApproved);
    const granted = amount + Math.max(0, ...approved.map(({ used }) => used));
    return kind === 'cost' ? toUsd(granted) : granted;
  }

  private amountOf(kind: Kind): number | null {
    const { maxSteps, maxTokens, maxDurationMs, maxCostUsd } = this.policy;
    const amounts = { steps: maxSteps, tokens: maxTokens, time: maxDurationMs, cost: maxCostUsd };
    return amounts[kind] ?? null;
  }

  private questionsOf(kind: Kind) {
    const all = this.terms.questions.of(NO_NODE).filter(({ key }) => key.startsWith(`${kind}@`));
    return all.map(({ key, status, outcome }) => ({
      key,
      used: Number(key.slice(kind.length + 1)),
      isApproved: status === 'resolved' && outcome?.outcome === 'approve',
    }));
  }
}
