import type { ApprovalAction } from './approval-policy.js';
import type { Verdict } from './judge-call.js';
import type { PastCall } from './past-calls.repository.js';

/** The number of calls per action: run at once, require approval, blocked. */
export type ActionCounts = Readonly<Record<ApprovalAction, number>>;

/** A call that the draft would treat differently. */
export interface ReplayedChange {
  /** The id of the call in the ledger. */
  readonly id: string;
  readonly jobId: string;
  readonly tool: string;
  readonly before: ApprovalAction;
  readonly after: ApprovalAction;
  /** The reason given by the draft's rule. */
  readonly reason: string;
}

/** How many calls a rule of the draft was the first to match; `index` null: no rule matched, and the default applied. */
export interface RuleHits {
  readonly index: number | null;
  readonly hits: number;
}

/** How a draft would have treated past calls. */
export interface PolicyReplay {
  readonly examined: number;
  /** False: a time limit was reached, and older calls were left out. */
  readonly isComplete: boolean;
  /** Counts with the current policy. */
  readonly before: ActionCounts;
  /** Counts with the draft. */
  readonly after: ActionCounts;
  readonly changed: number;
  /** The newest of the changed calls, at most 50. */
  readonly changes: readonly ReplayedChange[];
  readonly rules: readonly RuleHits[];
}

/** The verdicts of both policies on a call: `own` is that of the workspace layer, `whole` the final one. */
export interface ReplayedCall {
  readonly call: Pick<PastCall, 'id' | 'jobId' | 'name'>;
  readonly current: { readonly whole: Verdict };
  readonly draft: { readonly own: Verdict; readonly whole: Verdict };
}

const maxChanges = 50;
const NONE: ActionCounts = { auto_approve: 0, require_approval: 0, block: 0 };

export function newReplay(): PolicyReplay {
  return { examined: 0, isComplete: true, before: NONE, after: NONE, changed: 0, changes: [], rules: [] };
}

/** Adds one call to the replay. The call is older than the previous ones. */
export function tally(replay: PolicyReplay, { call, current, draft }: ReplayedCall): PolicyReplay {
  const [before, after] = [current.whole.action, draft.whole.action];
  const hasChanged = before !== after;
  const { id, jobId, name: tool } = call;
  const change = { id, jobId, tool, before, after, reason: draft.whole.rule.reason };
  return {
    examined: replay.examined + 1,
    isComplete: replay.isComplete,
    before: { ...replay.before, [before]: replay.before[before] + 1 },
    after: { ...replay.after, [after]: replay.after[after] + 1 },
    changed: replay.changed + (hasChanged ? 1 : 0),
    changes: hasChanged && replay.changes.length < maxChanges ? [...replay.changes, change] : replay.changes,
    rules: hit(replay.rules, draft.own.rule.index),
  };
}

/** Keeps the order of the rules, with the default last. */
function hit(rules: readonly RuleHits[], index: number | null): readonly RuleHits[] {
  const known = rules.find((rule) => rule.index === index);
  if (known !== undefined) return rules.map((rule) => (rule === known ? { index, hits: rule.hits + 1 } : rule));
  return [...rules, { index, hits: 1 }].sort((a, b) => (a.index ?? Infinity) - (b.index ?? Infinity));
}
