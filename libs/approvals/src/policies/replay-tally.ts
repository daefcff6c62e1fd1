import type { ApprovalAction } from './approval-policy.js';
import type { Verdict } from './judge-call.js';
import type { PastCall } from './past-calls.repository.js';

/** How many calls would run at once, be asked for, be blocked. */
export type ActionCounts = Readonly<Record<ApprovalAction, number>>;

/** A call that the draft would treat otherwise. */
export interface ReplayedChange {
  /** The call's id in the ledger. */
  readonly id: string;
  readonly jobId: string;
  readonly tool: string;
  readonly before: ApprovalAction;
  readonly after: ApprovalAction;
  /** Why, in words of the draft. */
  readonly reason: string;
}

/** How often a rule of the draft was the first to meet a call; `index` null: none did, and its default counted. */
export interface RuleHits {
  readonly index: number | null;
  readonly hits: number;
}

/** What a draft would have done to the calls of the past. */
export interface PolicyReplay {
  readonly examined: number;
  /** False: it took too long, and older calls were not looked at. */
  readonly isComplete: boolean;
  /** By the policy of now. */
  readonly before: ActionCounts;
  /** By the draft. */
  readonly after: ActionCounts;
  readonly changed: number;
  /** The newest of the changed calls, at most 50. */
  readonly changes: readonly ReplayedChange[];
  readonly rules: readonly RuleHits[];
}

/** A call as both policies judge it: `own` is the verdict of the workspace layer, `whole` the final one. */
export interface ReplayedCall {
  readonly call: Pick<PastCall, 'id' | 'jobId' | 'name'>;
  readonly current: { readonly whole: Verdict };
  readonly draft: { readonly own: Verdict; readonly whole: Verdict };
}

const mostChanges = 50;
const NONE: ActionCounts = { auto_approve: 0, require_approval: 0, block: 0 };

export function newReplay(): PolicyReplay {
  return { examined: 0, isComplete: true, before: NONE, after: NONE, changed: 0, changes: [], rules: [] };
}

/** The replay with one more call, older than those before. */
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
    changes: hasChanged && replay.changes.length < mostChanges ? [...replay.changes, change] : replay.changes,
    rules: hit(replay.rules, draft.own.rule.index),
  };
}

/** In the order of the rules, the default last. */
function hit(rules: readonly RuleHits[], index: number | null): readonly RuleHits[] {
  const known = rules.find((rule) => rule.index === index);
  if (known !== undefined) return rules.map((rule) => (rule === known ? { index, hits: rule.hits + 1 } : rule));
  return [...rules, { index, hits: 1 }].sort((a, b) => (a.index ?? Infinity) - (b.index ?? Infinity));
}
