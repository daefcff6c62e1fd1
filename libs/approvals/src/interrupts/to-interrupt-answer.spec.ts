import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { AppError } from '#platform';

import type { DecidedKind, InterruptAnswer } from './interrupt-deciders.js';
import { assertAnswerFields, toInterruptAnswer } from './to-interrupt-answer.js';

function refusalOf(body: unknown): unknown {
  try {
    return toInterruptAnswer(body);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [error.code, error.message, error.field];
  }
}

describe('an answer from outside', () => {
  it('keeps known fields and drops the others', () => {
    const known = {
      ...{ decision: 'approve', action: 'submit', argumentsHash: 'h', arguments: {}, reason: 'Why not' },
      ...{ grantMinutes: 5, data: '', result: { a: [1] } },
    };
    expect(toInterruptAnswer({ ...known, surprise: 1 })).toEqual(known);
  });

  it('treats null, and an empty text of a text field, as absent', () => {
    const names = ['decision', 'action', 'argumentsHash', 'arguments', 'reason', 'grantMinutes', 'data', 'result'];
    expect(toInterruptAnswer(Object.fromEntries(names.map((name) => [name, null])))).toEqual({});
    expect(toInterruptAnswer({ decision: '', action: '', argumentsHash: '', reason: '' })).toEqual({});
    expect([toInterruptAnswer(undefined), toInterruptAnswer(null)]).toEqual([{}, {}]);
  });

  it.each<[string, unknown, unknown]>([
    ['a list as body', [], ['bad_request', 'Invalid request body', undefined]],
    ['a numeric decision', { decision: 1 }, ['bad_request', 'Invalid decision', 'decision']],
    ['an object as action', { action: {} }, ['bad_request', 'Invalid action', 'action']],
    ['a numeric hash', { argumentsHash: 5 }, ['bad_request', 'Invalid request body', 'argumentsHash']],
    ['a list as arguments', { arguments: [1] }, ['bad_request', 'Invalid request body', 'arguments']],
    ['a numeric reason', { reason: 1 }, ['bad_request', 'Invalid request body', 'reason']],
    ['a long reason', { reason: 'x'.repeat(501) }, ['bad_request', 'reason exceeds 500 characters', 'reason']],
    ['half a minute', { grantMinutes: 0.5 }, ['bad_request', 'Invalid request body', 'grantMinutes']],
    ['large data', { data: 'ü'.repeat(131_073) }, ['too_large', 'data exceeds 262144 bytes', 'data']],
    ['a large result', { result: ['x'.repeat(262_141)] }, ['too_large', 'result exceeds 262144 bytes', 'result']],
  ])('refuses %s', (_, body, refusal) => {
    expect(refusalOf(body)).toEqual(refusal);
  });

  it('takes a reason and data up to their limits', () => {
    const most = { reason: 'x'.repeat(500), data: 'ü'.repeat(131_072) };
    expect(toInterruptAnswer(most)).toEqual(most);
  });

  it('rejects any invalid input with a message, or keeps a valid one', () => {
    fc.assert(
      fc.property(fc.anything(), (body) => {
        const read = refusalOf(body);
        expect(typeof read).toBe('object');
      }),
    );
  });
});

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
