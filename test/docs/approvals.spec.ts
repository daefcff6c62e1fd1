import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

import { parseApprovalPolicy } from '../../libs/approvals/src/policies/approval-policy.js';
import { judgeCall } from '../../libs/approvals/src/policies/judge-call.js';

const text = readFileSync('docs/approvals.md', 'utf8');

/** The code blocks of a language, without those that are named otherwise. */
function blocks(language: string): readonly string[] {
  return [...text.matchAll(new RegExp(`(<!-- example: arguments -->\\s+)?\`\`\`${language}\\n([^]*?)\\n\`\`\``, 'g'))]
    .filter(([, isArguments]) => isArguments === undefined)
    .map(([, , block = '']) => block);
}

const sample = JSON.parse(/<!-- example: arguments -->\s+```json\n([^]*?)\n```/.exec(text)?.[1] ?? '') as object;
const conditions = [...text.matchAll(/^\| `(.+?)`\s+\| (true|false|an error)\s+\|$/gm)].map(
  ([, condition = '', gives = '']) => [condition, gives] as const,
);

/** True, false or an error, distinguished by the effect of a rule. */
function outcomeOf(when: string): string {
  const action = (rule: 'block' | 'auto_approve') =>
    judgeCall({
      tool: 'mail.send',
      arguments: sample,
      agent: null,
      principal: { id: 'user:1', role: 'member', userId: '1' },
      layers: [{ name: 'workspace', policy: parseApprovalPolicy({ rules: [{ match: '*', when, action: rule }] }) }],
      ownApproval: null,
    }).action;
  const [blocked, run] = [action('block'), action('auto_approve')];
  if (blocked === 'require_approval' && run === 'require_approval') return 'an error';
  return blocked === 'block' ? 'true' : 'false';
}

describe('docs/approvals.md', () => {
  it('shows only policies that can be saved', () => {
    const policies = blocks('json');
    expect(policies).toHaveLength(1);
    for (const policy of policies) expect(() => parseApprovalPolicy(JSON.parse(policy))).not.toThrow();
  });

  it('shows conditions that this test can evaluate', () => {
    expect(conditions.length).toBeGreaterThan(10);
  });

  it.each(conditions)('shows the correct value of each condition: %s is %s', (condition, gives) => {
    expect(outcomeOf(condition)).toBe(gives);
  });
});
