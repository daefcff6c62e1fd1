import { describe, expect, it } from '@jest/globals';

import type { ApprovalPolicy } from '#tools';

import { workflowFormat, type WorkflowInput } from './workflow-input.js';

const toolApproval: ApprovalPolicy = {
  ...({ default: 'require_approval', rules: [], timeoutDays: 7 } as const),
  ...({ expireAction: 'deny', decidableBy: 'members', fourEyes: false } as const),
};
const formatOf = (change: Partial<WorkflowInput>) =>
  workflowFormat({ prompt: 'hi', history: [], attachments: [], subflows: {}, toolPins: { echo: '1' }, ...change });

describe('the format of a run', () => {
  it('is 1 where every worker knows what it is made of', () => {
    expect(formatOf({ subflows: { s: { id: 's', version: 1 } }, retryOf: 'j' })).toBe(1);
  });

  it.each<[string, Partial<WorkflowInput>]>([
    ['agents', { agents: { Clerk: { id: 'a', version: 1 } } }],
    ['inputs of a call', { inputs: { text: 'x' } }],
    ['a policy of its caller', { toolApproval }],
    ['policies of agents above it', { callerPolicies: [toolApproval] }],
    ['a workflow to call', { toolPins: { 'workflow.letters': 'w@1' } }],
  ])('with %s is 2', (_what, change) => {
    expect(formatOf(change)).toBe(2);
  });
});
