import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import {
  type ApprovalAction,
  approvalActions,
  type ApprovalPolicy,
  decidableByKinds,
  expireActions,
  parseApprovalPolicy,
} from './approval-policy.js';
import { type CallQuestion, judgeCall, type PolicyLayer, type Verdict } from './judge-call.js';

const LAYERS: readonly PolicyLayer[] = ['instance', 'workspace', 'agent', 'tool', 'request'];

function ask(policies: readonly unknown[], over: Partial<CallQuestion> = {}): Verdict {
  const layers = policies.map((policy, i) => ({
    name: LAYERS[i] ?? 'request',
    policy: parseApprovalPolicy(policy),
  }));
  return judgeCall({
    tool: 'mail.send',
    arguments: { to: 'ann@example.org', amount: 1500 },
    agent: null,
    principal: { id: 'user:7', role: 'member', userId: '7' },
    layers,
    ownApproval: null,
    ...over,
  });
}

const actionOf = (rules: readonly unknown[], over: Partial<CallQuestion> = {}): ApprovalAction =>
  ask([{ rules }], over).action;

describe('judgeCall with one policy', () => {
  it('applies the first rule that matches the call', () => {
    const rules = [
      { match: 'files.*', action: 'block' },
      { match: 'mail.*', action: 'require_approval' },
      { match: '*', action: 'block' },
    ];
    expect(ask([{ rules }])).toMatchObject({
      action: 'require_approval',
      rule: {
        layer: 'instance',
        index: 1,
        match: 'mail.*',
        reason: 'Rule 1 of the installation (mail.*) asks for approval.',
      },
    });
  });

  it('applies the default when no rule matches', () => {
    expect(ask([{ default: 'require_approval', rules: [{ match: 'x', action: 'block' }] }])).toMatchObject({
      action: 'require_approval',
      rule: { layer: 'instance', index: null, match: '*' },
    });
    expect(ask([{}]).action).toBe('auto_approve');
  });

  it('matches a rule only if its condition is true', () => {
    const rules = [{ match: '*', when: 'arguments.amount > 1000', action: 'block' }];
    expect(actionOf(rules)).toBe('block');
    expect(actionOf(rules, { arguments: { amount: 10 } })).toBe('auto_approve');
  });

  it('matches a rule by the role of the requester', () => {
    const rules = [
      { match: '*', when: 'principal.role in ["owner", "admin"]', action: 'auto_approve' },
      { match: '*', action: 'require_approval' },
    ];
    expect(actionOf(rules, { principal: { id: 'user:1', role: 'admin', userId: '1' } })).toBe('auto_approve');
    expect(actionOf(rules)).toBe('require_approval');
    expect(actionOf(rules, { principal: { id: 'system', role: null, userId: null } })).toBe('require_approval');
  });

  it.each(['auto_approve', 'require_approval', 'block'])(
    'requires approval when a condition fails, instead of: %s',
    (action) => {
      const verdict = ask([
        { rules: [{ match: '*', when: 'arguments.absent == 1', action, decidableBy: 'approvers' }] },
      ]);
      expect(verdict).toMatchObject({ action: 'require_approval', decidableBy: 'approvers', rule: { index: 0 } });
      expect(verdict.rule.reason).toContain('could not be evaluated');
    },
  );

  it('requires approval when a condition exceeds its time limit', () => {
    const when = 'arguments.l.exists(a, arguments.l.exists(b, arguments.l.exists(c, c < 0)))';
    const verdict = ask([{ rules: [{ match: '*', when, action: 'auto_approve' }] }], {
      arguments: { l: Array.from({ length: 5_000 }, (_, i) => i) },
    });
    expect(verdict.action).toBe('require_approval');
    expect(verdict.rule.reason).toContain('takes too long');
  });

  it('requires approval when all conditions together exceed the time limit', () => {
    const when = 'arguments.l.exists(a, a < 0)';
    const rules = Array.from({ length: 200 }, () => ({ match: '*', when, action: 'block' }));
    const verdict = ask([{ rules }], { arguments: { l: Array.from({ length: 9_000 }, (_, i) => i) } });
    expect(verdict.action).toBe('require_approval');
    expect(verdict.rule.index).toBeLessThan(199);
  });

  it('takes timeout and deciders from the rule, else from the policy', () => {
    const policy = { timeoutDays: 2, decidableBy: 'members', fourEyes: true, expireAction: 'fail_job' };
    const rules = [
      { match: 'a', action: 'require_approval', timeoutDays: 0.5, decidableBy: 'approvers', locked: true },
      { match: 'b', action: 'require_approval', timeoutDays: 0, fourEyes: false, expireAction: 'deny' },
    ];
    const day = 86_400_000;
    expect(ask([{ ...policy, rules }], { tool: 'a' })).toMatchObject({
      timeoutMs: day / 2,
      ...{ decidableBy: 'approvers', fourEyes: true, expireAction: 'fail_job', locked: true },
    });
    expect(ask([{ ...policy, rules }], { tool: 'b' })).toMatchObject({
      timeoutMs: null,
      ...{ decidableBy: 'members', fourEyes: false, expireAction: 'deny', locked: false },
    });
  });

  it('clamps a tiny timeoutDays to 1 ms', () => {
    expect(ask([{ timeoutDays: 1e-12 }]).timeoutMs).toBe(1);
  });
});

describe('judgeCall with several layers of the policy', () => {
  it('applies the strictest action and names its layer', () => {
    const asks = { default: 'require_approval' };
    expect(ask([{}, asks, {}])).toMatchObject({ action: 'require_approval', rule: { layer: 'workspace' } });
    expect(ask([asks, { rules: [{ match: '*', action: 'block' }] }])).toMatchObject({
      action: 'block',
      rule: { layer: 'workspace', index: 0 },
    });
    expect(ask([asks, { rules: [{ match: '*', action: 'auto_approve' }] }]).action).toBe('require_approval');
  });

  it('applies the approval of a tool with the settings of the workspace', () => {
    const verdict = ask([{}, { decidableBy: 'approvers', timeoutDays: 1 }], { ownApproval: 'require_approval' });
    expect(verdict).toMatchObject({
      action: 'require_approval',
      decidableBy: 'approvers',
      timeoutMs: 86_400_000,
      rule: { layer: 'tool', index: null, match: 'mail.send' },
    });
    expect(ask([], { ownApproval: 'block' }).action).toBe('block');
  });

  it('approves every call without layers', () => {
    expect(ask([]).action).toBe('auto_approve');
  });

  it('applies the strictest settings of the layers that require approval', () => {
    const asks = { default: 'require_approval' };
    expect(
      ask([
        { ...asks, timeoutDays: 0, decidableBy: 'members', fourEyes: true },
        { rules: [{ match: '*', action: 'require_approval', timeoutDays: 3, locked: true }] },
        { ...asks, timeoutDays: 5, expireAction: 'fail_job' },
        { timeoutDays: 1, decidableBy: 'approvers' }, // lets it run, so its settings say nothing
      ]),
    ).toMatchObject({
      ...{
        timeoutMs: 3 * 86_400_000,
        decidableBy: 'requester',
        expireAction: 'fail_job',
        fourEyes: true,
        locked: true,
      },
      rule: { layer: 'instance' },
    });
  });
});

describe('a layer of the policy', () => {
  const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(arbitrary, { nil: undefined });
  const settings = {
    timeoutDays: optional(fc.constantFrom(0, 0.25, 1, 7)),
    decidableBy: optional(fc.constantFrom(...decidableByKinds)),
    expireAction: optional(fc.constantFrom(...expireActions)),
    fourEyes: optional(fc.boolean()),
  };
  const rule = fc.record({
    match: fc.constantFrom('*', 'mail.*', 'mail.send', 'other'),
    when: optional(fc.constantFrom('arguments.amount > 1000', 'arguments.none == 1', 'principal.role == "viewer"')),
    action: fc.constantFrom(...approvalActions),
    locked: optional(fc.boolean()),
    ...settings,
  });
  const policy: fc.Arbitrary<ApprovalPolicy> = fc
    .record({
      default: fc.constantFrom('auto_approve', 'require_approval'),
      rules: fc.array(rule, { maxLength: 4 }),
      ...settings,
    })
    .map((value) => parseApprovalPolicy(value));
  const policies = fc.array(policy, { maxLength: 4 });
  const own = fc.constantFrom(null, 'require_approval', 'block');
  const strictness = (action: ApprovalAction): number => approvalActions.indexOf(action);
  const narrowness = ({ decidableBy }: Verdict): number => decidableByKinds.indexOf(decidableBy);

  it('tightens and never relaxes the action of the others', () => {
    fc.assert(
      fc.property(policies, policy, own, (others, added, ownApproval) => {
        const without = ask(others, { ownApproval });
        const verdict = ask([...others, added], { ownApproval });
        expect(strictness(verdict.action)).toBeGreaterThanOrEqual(strictness(without.action));
      }),
    );
  });

  it('tightens and never relaxes the settings of a request', () => {
    const some = fc.array(policy, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(some, policy, (others, added) => {
        const without = ask(others);
        const verdict = ask([...others, added]);
        if (verdict.action !== without.action) return;
        expect(verdict.timeoutMs ?? Infinity).toBeLessThanOrEqual(without.timeoutMs ?? Infinity);
        expect(narrowness(verdict)).toBeGreaterThanOrEqual(narrowness(without));
        expect(verdict.expireAction === 'deny' && without.expireAction === 'fail_job').toBe(false);
        expect(without.fourEyes && !verdict.fourEyes).toBe(false);
        expect(without.locked && !verdict.locked).toBe(false);
      }),
    );
  });

  it('works the same in any order of the layers', () => {
    const judged = (verdict: Verdict): unknown => ({ ...verdict, rule: null });
    fc.assert(
      fc.property(policies, (some) => {
        expect(judged(ask(some.toReversed()))).toEqual(judged(ask(some)));
      }),
    );
  });
});
