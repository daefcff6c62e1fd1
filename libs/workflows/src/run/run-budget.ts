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
 * The budget of a run, after which it asks a person whether to continue. Each approval grants the same amount again, on top of the usage at that
 * time, which the question's key contains.
 */
export class RunBudget {
  constructor(
    private readonly policy: StopPolicy,
    private readonly run: JobRun,
    private readonly options: {
      readonly questions: NodeQuestions;
      /** Usage of the run's models and of all descendants. */
      readonly spending: RunSpending;
      /** Ms that earlier leases worked, without waits. */
      readonly workedMs: number;
      /** When this lease began to work. */
      readonly enteredAt: number;
      readonly now: () => number;
    },
  ) {}

  /** Maximum nodes to execute, including grants; null: no limit. */
  get maxSteps(): number | null {
    return this.granted('steps');
  }

  /** The reached limit, if the runner counts it; null: none. The engine counts steps. */
  get usedUp(): UsedUp | null {
    const { promptTokens, completionTokens } = this.run.totals;
    const { spending } = this.options;
    const all: readonly UsedUp[] = [
      { kind: 'tokens', used: promptTokens + completionTokens + spending.descendantsTokens },
      { kind: 'cost', used: spending.usd },
      { kind: 'time', used: this.msUsed },
    ];
    return all.find(({ kind, used }) => used >= (this.granted(kind) ?? Infinity)) ?? null;
  }

  /** How long the run may continue to work; null: no limit. */
  get msLeft(): number | null {
    const granted = this.granted('time');
    return granted === null ? null : Math.max(0, granted - this.msUsed);
  }

  /** Asks whether the run may continue; a stored answer counts at once. */
  ask(workflowName: string, { kind, used }: UsedUp): PersonAnswer {
    const asked = this.questionsOf(kind).find(({ isApproved }) => !isApproved);
    const row = { ordinal: NO_NODE, nodeId: '', path: [], label: workflowName, input: '' };
    const view = { workflowName, sessionId: this.run.job.threadId ?? this.run.job.jobId };
    const more = `${this.amountOf(kind) ?? 0} ${units[kind]}`;
    return this.options.questions.ask(
      { row, view },
      {
        key: asked?.key ?? `${kind}@${used}`,
        mode: 'approval',
        title: `"${workflowName}" has used up its budget`,
        prompt: `${this.describe({ kind, used })} May it use ${more} more?`,
        options: [
          { id: 'continue', label: 'Continue', action: 'approve' },
          { id: 'stop', label: 'Stop', action: 'reject' },
        ],
        defaultAction: 'reject',
      },
      this.options.now(),
    );
  }

  /** The limit in words, for people. */
  describe({ kind, used }: UsedUp): string {
    return `It has used ${used} of ${this.granted(kind) ?? used} ${units[kind]}.`;
  }

  private get msUsed(): number {
    const { workedMs, enteredAt, now } = this.options;
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
    const all = this.options.questions.of(NO_NODE).filter(({ key }) => key.startsWith(`${kind}@`));
    return all.map(({ key, status, outcome }) => ({
      key,
      used: Number(key.slice(kind.length + 1)),
      isApproved: status === 'resolved' && outcome?.outcome === 'approve',
    }));
  }
}
