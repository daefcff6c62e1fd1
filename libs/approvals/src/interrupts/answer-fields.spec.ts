import { describe, expect, it } from '@jest/globals';

import { AppError } from '#platform';

import { assertAnswerFields } from './answer-fields.js';
import type { DecidedKind, InterruptAnswer } from './interrupt-deciders.js';

function refusedField(kind: DecidedKind, answer: InterruptAnswer): string | undefined {
  try {
    assertAnswerFields(kind, answer);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `${error.code} ${error.field ?? ''}: ${error.message}`;
  }
}

const approval = { argumentsHash: 'h', reason: 'r' };

describe('assertAnswerFields', () => {
  it.each<[DecidedKind, InterruptAnswer]>([
    ['tool_approval', { decision: 'approve', ...approval, arguments: {}, grantMinutes: 5 }],
    ['tool_approval', { decision: 'deny', ...approval }],
    ['human_input', { action: 'submit', data: 1, reason: 'r' }],
    ['wait', { action: 'submit', data: 1, reason: 'r' }],
    ['unknown_outcome', { decision: 'happened', result: 1, reason: 'r' }],
    ['unknown_outcome', { decision: 'repeat', reason: 'r' }],
  ])('accepts every field of a %s answer: %j', (kind, answer) => {
    expect(refusedField(kind, answer)).toBeUndefined();
  });

  it.each<[DecidedKind, InterruptAnswer, string]>([
    ['unknown_outcome', { decision: 'happened', data: 1 }, 'data is not a field of an answer to unknown_outcome'],
    ['unknown_outcome', { decision: 'report', result: 1 }, 'result is not a field of decision report'],
    [
      'unknown_outcome',
      { decision: 'repeat', arguments: {} },
      'arguments is not a field of an answer to unknown_outcome',
    ],
    ['tool_approval', { decision: 'approve', data: 1 }, 'data is not a field of an answer to tool_approval'],
    ['tool_approval', { decision: 'approve', action: 'x' }, 'action is not a field of an answer to tool_approval'],
    ['tool_approval', { decision: 'deny', arguments: {} }, 'arguments is not a field of decision deny'],
    ['tool_approval', { decision: 'deny', grantMinutes: 5 }, 'grantMinutes is not a field of decision deny'],
    ['human_input', { action: 'submit', result: 1 }, 'result is not a field of an answer to human_input'],
    ['human_input', { action: 'submit', decision: 'approve' }, 'decision is not a field of an answer to human_input'],
    ['wait', { action: 'submit', grantMinutes: 5 }, 'grantMinutes is not a field of an answer to wait'],
  ])('rejects a field that a %s answer does not allow: %j', (kind, answer, message) => {
    const [field] = message.split(' ');
    expect(refusedField(kind, answer)).toBe(`bad_request ${field ?? ''}: ${message}`);
  });

  it('ignores an answer without a decision, which its kind checks later', () => {
    expect(refusedField('unknown_outcome', { data: 1 })).toBeUndefined();
  });
});
