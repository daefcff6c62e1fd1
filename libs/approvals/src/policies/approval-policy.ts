import { z } from 'zod';

import { readInput } from '#platform';
import { celSize } from '#tools';

import { invalidPolicy } from '../approvals.errors.js';
import { compileCondition, MAX_CONDITION_LENGTH } from './condition.js';

/** The actions of a policy on a call, from the mildest to the strictest. */
export const approvalActions = ['auto_approve', 'require_approval', 'block'] as const;
/** Who may decide, from the largest group to the smallest. */
export const decidableByKinds = ['members', 'requester', 'approvers'] as const;
/** The effects of an expired request, from the mildest to the strictest. None of them approves the call. */
export const expireActions = ['deny', 'fail_job'] as const;

export type ApprovalAction = (typeof approvalActions)[number];
export type DecidableBy = (typeof decidableByKinds)[number];
export type ExpireAction = (typeof expireActions)[number];

/** The smaller of two groups. */
export function narrowerOf(a: DecidableBy, b: DecidableBy): DecidableBy {
  return decidableByKinds.indexOf(a) >= decidableByKinds.indexOf(b) ? a : b;
}

export const MAX_RULES = 200;
/** Maximum size of all conditions of a policy together, with repetitions in patterns expanded. */
const MAX_CONDITIONS_SIZE = 50_000;
const longestMatch = 200;
const maxDays = 3_650;

const conditions = {
  /** May be fractional; 0: the request never expires. */
  timeoutDays: z.number().min(0).max(maxDays),
  expireAction: z.enum(expireActions),
  decidableBy: z.enum(decidableByKinds),
  /** Whether the requester may not decide. */
  fourEyes: z.boolean(),
};

const ruleSchema = z.strictObject({
  /** A glob on the whole tool name. */
  match: z.string().min(1).max(longestMatch),
  /** A CEL expression. A rule without one matches every call of a matching tool. */
  when: z.string().min(1).max(MAX_CONDITION_LENGTH).optional(),
  action: z.enum(approvalActions),
  timeoutDays: conditions.timeoutDays.optional(),
  expireAction: conditions.expireAction.optional(),
  decidableBy: conditions.decidableBy.optional(),
  fourEyes: conditions.fourEyes.optional(),
  /** Only approvers may decide, and grants do not apply. */
  locked: z.boolean().default(false),
});

const policySchema = z.strictObject({
  default: z.enum(approvalActions).exclude(['block']).default('auto_approve'),
  timeoutDays: conditions.timeoutDays.default(7),
  expireAction: conditions.expireAction.default('deny'),
  decidableBy: conditions.decidableBy.default('requester'),
  fourEyes: conditions.fourEyes.default(false),
  /** The first rule that matches a call applies; if no rule matches, `default` applies. */
  rules: z.array(ruleSchema).max(MAX_RULES).default([]),
});

const newPolicySchema = policySchema.superRefine(({ rules }, context) => {
  const size = rules.reduce((sum, { when = '' }) => sum + celSize(when), 0);
  if (size > MAX_CONDITIONS_SIZE) {
    const message = `all conditions together are longer than ${MAX_CONDITIONS_SIZE} characters`;
    context.addIssue({ code: 'custom', path: ['rules'], message });
    return;
  }
  for (const [index, { when }] of rules.entries()) {
    const compiled = when === undefined ? null : compileCondition(when);
    if (compiled?.ok === false)
      context.addIssue({ code: 'custom', path: ['rules', index, 'when'], message: compiled.problem });
  }
});

/** One layer of the approval policy, as a workspace stores it. */
export type ApprovalPolicy = z.infer<typeof policySchema>;
export type ApprovalRule = z.infer<typeof ruleSchema>;

/**
 * Parses an untrusted policy and fills in the defaults. Throws `bad_request` with the path of the first wrong field; the path begins with
 * `parent` if the policy is a field of another document.
 */
export function parseApprovalPolicy(value: unknown, parent?: string): ApprovalPolicy {
  const read = readInput(newPolicySchema, value);
  if ('data' in read) return read.data;
  throw invalidPolicy([parent ?? '', read.problem.field].filter((name) => name !== '').join('.'), read.problem.text);
}

/** The policy that requires no approval. */
export const DEFAULT_POLICY: ApprovalPolicy = parseApprovalPolicy({});

/**
 * Reads a policy that was validated when it was saved. A condition that this build no longer accepts is kept: its evaluation fails, so its
 * rule requires approval.
 */
export function readStoredPolicy(value: unknown): ApprovalPolicy {
  return policySchema.parse(value);
}
