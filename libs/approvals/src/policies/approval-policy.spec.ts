import { describe, expect, it } from '@jest/globals';

import { DEFAULT_POLICY, MAX_RULES, parseApprovalPolicy } from './approval-policy.js';

const rule = { match: '*', action: 'require_approval' };

function errorOf(value: unknown): { code?: string; field?: string; message?: string } {
  try {
    parseApprovalPolicy(value);
    return {};
  } catch (error) {
    return error as { code: string; field: string; message: string }; // every refusal is an AppError
  }
}

describe('an approval policy', () => {
  it('approves every call by default', () => {
    expect(DEFAULT_POLICY).toEqual({
      default: 'auto_approve',
      timeoutDays: 7,
      expireAction: 'deny',
      decidableBy: 'requester',
      fourEyes: false,
      rules: [],
    });
  });

  it('names the invalid field by its path', () => {
    expect(errorOf({ rules: [{}] }).field).toBe('rules.0.match');
    expect(() => parseApprovalPolicy({ rules: {} }, 'toolApproval')).toThrow(
      expect.objectContaining({ field: 'toolApproval.rules' }),
    );
    expect(() => parseApprovalPolicy([], 'toolApproval')).toThrow(expect.objectContaining({ field: 'toolApproval' }));
  });

  it('keeps the given fields and adds no default for absent fields of a rule', () => {
    const given = {
      default: 'require_approval',
      timeoutDays: 0.5,
      rules: [{ ...rule, when: 'arguments.amount > 10', timeoutDays: 0, decidableBy: 'members', locked: true }, rule],
    };
    expect(parseApprovalPolicy(given)).toEqual({
      ...DEFAULT_POLICY,
      ...given,
      rules: [given.rules[0], { ...rule, locked: false }],
    });
  });

  it('rejects conditions whose total size is too large to compile', () => {
    const rules = Array.from({ length: 30 }, (_, n) => ({ ...rule, when: `tool.matchesRe2("^(a|b${n}){300}$")` }));
    expect(errorOf({ rules }).message).toContain('all conditions together are longer than 50000 characters');
    parseApprovalPolicy({ rules: rules.slice(0, 3) });
  });

  it('parses its own output to the same policy', () => {
    const policy = parseApprovalPolicy({ rules: [{ ...rule, fourEyes: true }] });
    expect(parseApprovalPolicy(JSON.parse(JSON.stringify(policy)))).toEqual(policy);
  });

  it.each<[string, unknown, string]>([
    ['no object', 'auto_approve', ''],
    ['an unknown field', { rules: [], mode: 'x' }, 'mode'],
    ['a default that blocks everything', { default: 'block' }, 'default'],
    ['a negative time', { timeoutDays: -1 }, 'timeoutDays'],
    ['an infinite time', { timeoutDays: Number.POSITIVE_INFINITY }, 'timeoutDays'],
    ['an unknown expiry', { expireAction: 'approve' }, 'expireAction'],
    ['an unknown group of deciders', { decidableBy: 'everybody' }, 'decidableBy'],
    ['a rule without action', { rules: [{ match: '*' }] }, 'rules.0.action'],
    ['a rule that matches nothing', { rules: [rule, { ...rule, match: '' }] }, 'rules.1.match'],
    ['a glob too long', { rules: [{ ...rule, match: '*'.repeat(201) }] }, 'rules.0.match'],
    ['a condition that does not parse', { rules: [{ ...rule, when: 'arguments.' }] }, 'rules.0.when'],
    ['a condition with matches()', { rules: [rule, { ...rule, when: 'tool.matches("a")' }] }, 'rules.1.when'],
    ['a condition too long', { rules: [{ ...rule, when: `tool == "${'a'.repeat(2_000)}"` }] }, 'rules.0.when'],
    ['too many rules', { rules: Array.from({ length: MAX_RULES + 1 }, () => rule) }, 'rules'],
  ])('refuses %s and names the field', (_fact, value, field) => {
    const error = errorOf(value);
    expect(error.code).toBe('bad_request');
    expect(error.field).toBe(field);
    expect(error.message).toContain(field);
  });

  it('accepts MAX_RULES rules', () => {
    expect(parseApprovalPolicy({ rules: Array.from({ length: MAX_RULES }, () => rule) }).rules).toHaveLength(MAX_RULES);
  });
});
