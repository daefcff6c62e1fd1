import { describe, expect, it } from '@jest/globals';

import type { ApprovalPolicy } from '#approvals';

import { chatFormat, type ChatInput } from './chat-input.js';

const formatOf = (change: Partial<ChatInput>) =>
  chatFormat({ messages: [{ role: 'user', content: 'hi' }], history: 'thread', tools: ['echo'], ...change });
const toolApproval: ApprovalPolicy = {
  ...({ default: 'require_approval', rules: [], timeoutDays: 7 } as const),
  ...({ expireAction: 'deny', decidableBy: 'members', fourEyes: false } as const),
};
const client = { deviceId: null, tools: {} };
const agent = { id: 'a', version: 1, name: 'Clerk', slug: 'clerk' };

describe('chatFormat', () => {
  it.each<[string, Partial<ChatInput>]>([
    ['no special member', {}],
    ['tools of the server', { toolPins: { echo: '1' }, toolApproval }],
    ['tools of clients', { client }],
    ['another try', { retryOf: 'j', hasOwnKey: true }],
  ])('returns 1 for an input with %s', (_what, change) => {
    expect(formatOf(change)).toBe(1);
  });

  it.each<[string, Partial<ChatInput>]>([
    ['an agent', { agent }],
    ['agents to choose among', { routing: { candidates: [{ id: 'a', version: 1 }], fallback: 'a' } }],
    ['a call instead of a model', { call: { name: 'echo', arguments: '{}' } }],
    ['calls that are handed over', { client: { ...client, handedOver: { timeoutMs: 1 } } }],
    ['a workflow to call', { toolPins: { 'workflow.letters': 'w@1' } }],
  ])('returns 2 for an input with %s', (_what, change) => {
    expect(formatOf(change)).toBe(2);
  });
});
