import { describe, expect, it } from '@jest/globals';

import { type ToolResponse } from './queue-message.js';
import { toSettlement } from './result-applier.js';

const call = { name: 'dig', callId: 'call_1' };
const failure = { phase: 'execution', message: 'no luck' } as const;

function settle(changes: Partial<ToolResponse>) {
  const nothing = { status: 'error', result: null, error: null, started: true } as const;
  return toSettlement(call, { ...nothing, ...changes } as ToolResponse); // the rest is not looked at
}

describe('toSettlement', () => {
  it('completes with the content of a success', () => {
    expect(settle({ status: 'success', result: { content: 'gold', success: true } })).toEqual({
      status: 'completed',
      result: 'gold',
      started: true,
    });
  });

  it('stores a large content whole, with its original size', () => {
    const content = 'x'.repeat(300_000);
    expect(settle({ status: 'success', result: { content, success: true, bytes: 9_000_000 } })).toMatchObject({
      status: 'completed',
      whole: content,
      resultBytes: 9_000_000,
    });
  });

  it('fails the call with the error of an unsuccessful result', () => {
    expect(settle({ status: 'success', result: { content: 'only sand', success: false } })).toMatchObject({
      status: 'error',
      failure: { phase: 'execution', message: 'Error executing tool "dig": only sand' },
    });
  });

  it.each([
    ['error', failure, 'error'],
    ['timed_out', { ...failure, phase: 'timeout' }, 'timed_out'],
  ] as const)('ends a call as %s with the error of the tool', (status, error, ended) => {
    expect(settle({ status, error, started: false })).toEqual({ status: ended, failure: error, started: false });
  });

  it('withdraws the approval of a call whose requester has lost the right to it', () => {
    const error = { ...failure, phase: 'approval' } as const;
    expect(settle({ status: 'error', error, started: false })).toEqual({
      status: 'denied',
      failure: error,
      started: false,
      approval: 'withdrawn',
    });
  });

  it('adds a message to an outcome without one', () => {
    expect(settle({ status: 'error' })).toMatchObject({
      failure: { message: 'Error executing tool "dig": it failed without a reason' },
    });
    expect(settle({ status: 'success', result: null })).toMatchObject({ status: 'error' });
  });

  it('returns null for a cancelled call, because its declared effect decides its status', () => {
    expect(settle({ status: 'cancelled', error: failure })).toBeNull();
  });
});
