import { matchesGlob } from '#tools';

import {
  type ApprovalAction,
  approvalActions,
  type ApprovalPolicy,
  type ApprovalRule,
  type DecidableBy,
  DEFAULT_POLICY,
  type ExpireAction,
  narrowerOf,
} from './approval-policy.js';
import { compileCondition, type Condition, type ConditionContext } from './condition.js';

/** The origin of a policy. Each layer can make the verdict of the others stricter, and none can make it milder. */
export type PolicyLayer = 'instance' | 'workspace' | 'agent' | 'tool' | 'request';

/** The input of a verdict: a call and its context. */
export interface CallQuestion {
  /** The full name, `server.tool` for tools of a server. */
  readonly tool: string;
  /** The parsed arguments. If they are not an object, every condition fails. */
  readonly arguments: unknown;
  readonly agent: string | null;
  /** The requester, with the current role. */
  readonly principal: ConditionContext['principal'];
  readonly layers: readonly { readonly name: PolicyLayer; readonly policy: ApprovalPolicy }[];
  /** The approval that the tool itself declares, after the settings of the workspace. */
  readonly ownApproval: 'require_approval' | 'block' | null;
}

/** The rule that applied. */
export interface MetRule {
  readonly layer: PolicyLayer;
  /** From 0; null: the layer's default, or the approval that the tool itself declares. */
  readonly index: number | null;
  readonly match: string;
  /** A sentence that explains the verdict to people. */
  readonly reason: string;
}

/** The action for a call and, if it needs approval, the rules for deciding the request. */
export interface Verdict {
  readonly action: ApprovalAction;
  readonly rule: MetRule;
  /** Ms until a request expires; null: never. */
  readonly timeoutMs: number | null;
  readonly expireAction: ExpireAction;
  readonly decidableBy: DecidableBy;
  readonly fourEyes: boolean;
  /** Only approvers may decide, and grants do not apply. */
  readonly locked: boolean;
}

/** Maximum CPU time (ms) of all conditions of one policy. After that, the remaining conditions count as too slow. */
const maxConditionCpuMs = 50;
const dayMs = 86_400_000;

/**
 * Decides how the policies treat a call. Within a layer the first matching rule applies; over all layers the strictest action applies. Of the
 * layers with that action, the strictest conditions apply: the shortest timeout, `fail_job` before `deny`, `approvers` before `requester`
 * before `members`, four eyes and locked if any layer sets them. Pure, except that it measures time.
 */
export function judgeCall(question: CallQuestion): Verdict {
  return strictestOf(judgeLayers(question));
}

/** The verdict of each layer alone, in layer order; the verdict of the tool itself is last. */
export function judgeLayers(question: CallQuestion): readonly Verdict[] {
  const own = ownVerdict(question);
  const verdicts = question.layers.map((layer) => verdictOf(layer, question));
  return own === null ? verdicts : [...verdicts, own];
}

/** The strictest of several verdicts; without any verdict, the call may run. */
export function strictestOf(verdicts: readonly Verdict[]): Verdict {
  const [first, ...rest] = verdicts;
  return rest.reduce(stricter, first ?? ofDefault({ name: 'instance', policy: DEFAULT_POLICY }));
}

type Layer = CallQuestion['layers'][number];

function verdictOf(layer: Layer, question: CallQuestion): Verdict {
  let cpuMs = 0;
  for (const [index, rule] of layer.policy.rules.entries()) {
    if (!matchesGlob(rule.match, question.tool)) continue;
    if (rule.when === undefined) return ofRule(layer, { index, action: rule.action });
    const met = cpuMs < maxConditionCpuMs ? answerOf(rule.when, question) : TOO_SLOW;
    cpuMs += met.cpuMs;
    if (met.answer === 'false') continue;
    if (met.answer === 'true') return ofRule(layer, { index, action: rule.action });
    return ofRule(layer, { index, action: 'require_approval', problem: PROBLEMS[met.answer] });
  }
  return ofDefault(layer);
}

type Answer = ReturnType<Condition>;
const FAILED: Answer = { answer: 'failed', cpuMs: 0 };
const TOO_SLOW: Answer = { answer: 'too_slow', cpuMs: 0 };
const PROBLEMS = { failed: 'could not be evaluated for these arguments', too_slow: 'takes too long' } as const;

function answerOf(when: string, question: CallQuestion): Answer {
  const { tool, arguments: args, agent, principal } = question;
  const compiled = compileCondition(when);
  return compiled.ok ? compiled.condition({ tool, arguments: args, agent, principal }) : FAILED;
}

const EFFECTS: Record<ApprovalAction, string> = {
  auto_approve: 'lets it run',
  require_approval: 'asks for approval',
  block: 'blocks it',
};

/** How a reason names a layer. */
const LAYER_NAMES: Record<PolicyLayer, string> = {
  instance: 'installation',
  workspace: 'workspace',
  agent: 'agent',
  tool: 'tool',
  request: 'start request',
};

interface Met {
  readonly index: number;
  readonly action: ApprovalAction;
  readonly problem?: string;
}

function ofRule({ name, policy }: Layer, { index, action, problem }: Met): Verdict {
  const rule: Partial<ApprovalRule> = policy.rules[index] ?? {};
  const match = rule.match ?? '*';
  const which = `Rule ${index} of the ${LAYER_NAMES[name]} (${match})`;
  const reason =
    problem === undefined ? `${which} ${EFFECTS[action]}.` : `${which} asks, because its condition ${problem}.`;
  return {
    action,
    rule: { layer: name, index, match, reason },
    ...settingsOf(policy, rule),
    locked: rule.locked === true,
  };
}

function ofDefault({ name, policy }: Layer): Verdict {
  const action = policy.default;
  const reason = `No rule of the ${LAYER_NAMES[name]} matches, and its default ${EFFECTS[action]}.`;
  return { action, rule: { layer: name, index: null, match: '*', reason }, ...settingsOf(policy, {}), locked: false };
}

/** A tool declares only whether it needs approval; the workspace decides who approves and for how long. */
function ownVerdict({ tool, layers, ownApproval: action }: CallQuestion): Verdict | null {
  if (action === null) return null;
  const named = (name: PolicyLayer): ApprovalPolicy | undefined => layers.find((layer) => layer.name === name)?.policy;
  const policy = named('workspace') ?? named('instance') ?? DEFAULT_POLICY;
  const rule: MetRule = { layer: 'tool', index: null, match: tool, reason: `The tool itself ${EFFECTS[action]}.` };
  return { action, rule, ...settingsOf(policy, {}), locked: false };
}

function settingsOf(policy: ApprovalPolicy, rule: Partial<ApprovalRule>): Omit<Verdict, 'action' | 'rule' | 'locked'> {
  const days = rule.timeoutDays ?? policy.timeoutDays;
  return {
    timeoutMs: days === 0 ? null : Math.max(1, Math.round(days * dayMs)),
    expireAction: rule.expireAction ?? policy.expireAction,
    decidableBy: rule.decidableBy ?? policy.decidableBy,
    fourEyes: rule.fourEyes ?? policy.fourEyes,
  };
}

function stricter(a: Verdict, b: Verdict): Verdict {
  const difference = approvalActions.indexOf(a.action) - approvalActions.indexOf(b.action);
  if (difference !== 0) return difference > 0 ? a : b;
  return {
    action: a.action,
    rule: a.rule,
    timeoutMs: shorter(a.timeoutMs, b.timeoutMs),
    expireAction: [a, b].some(({ expireAction }) => expireAction === 'fail_job') ? 'fail_job' : 'deny',
    decidableBy: narrowerOf(a.decidableBy, b.decidableBy),
    fourEyes: a.fourEyes || b.fourEyes,
    locked: a.locked || b.locked,
  };
}

function shorter(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
