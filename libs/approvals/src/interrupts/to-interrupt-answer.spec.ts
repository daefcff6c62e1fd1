import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { AppError } from '#platform';

import { toInterruptAnswer } from './to-interrupt-answer.js';

function refusalOf(body: unknown): unknown {
  try {
    return toInterruptAnswer(body);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [error.code, error.message, error.field];
  }
}

describe('an answer from outside', () => {
  it('keeps what it knows, and nothing else', () => {
    const known = {
      ...{ decision: 'approve', action: 'submit', argumentsHash: 'h', arguments: {}, reason: 'Why not' },
      ...{ grantMinutes: 5, data: '', result: { a: [1] } },
    };
    expect(toInterruptAnswer({ ...known, surprise: 1 })).toEqual(known);
  });

  it('takes null, and for words the empty text, as absent', () => {
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
