import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ConversationFailed } from '#chat';
import { ModelError } from '#models';
import { AppError, OutboundError } from '#platform';

import { NodeFailure } from '../engine/node-executor.js';
import { codeOfMessage, codeOfStatus, isFinalFailure, refusal, toNodeError } from './to-node-error.js';

describe('the code of a failure', () => {
  it.each([
    [429, 'RATE_LIMIT'],
    [401, 'AUTH'],
    [403, 'AUTH'],
    [408, 'TIMEOUT'],
    [504, 'TIMEOUT'],
    [400, 'VALIDATION'],
    [404, 'VALIDATION'],
    [422, 'VALIDATION'],
    [500, 'LLM_ERROR'],
    [503, 'LLM_ERROR'],
    [200, undefined],
    [302, undefined],
  ])('follows from the status %d', (status, code) => {
    expect(codeOfStatus(status)).toBe(code);
  });

  it.each([
    ['Rate limit, request timed out', 'RATE_LIMIT'],
    ['got 429', 'RATE_LIMIT'],
    ['Timeout: unauthorized', 'TIMEOUT'],
    ['it timed out', 'TIMEOUT'],
    ['Unauthorized network', 'AUTH'],
    ['status 401', 'AUTH'],
    ['status 403', 'AUTH'],
    ['Network is invalid', 'NETWORK'],
    ['fetch failed', 'NETWORK'],
    ['ECONNREFUSED', 'NETWORK'],
    ['Validation', 'VALIDATION'],
    ['Invalid', 'VALIDATION'],
    ['HITL: Request rejected', 'UNKNOWN'],
    ['', 'UNKNOWN'],
  ])('follows from the first known word of the message: %s', (message, code) => {
    expect(codeOfMessage(message)).toBe(code);
  });

  const model = (code: ModelError['code'], status?: number): ModelError =>
    new ModelError({
      code,
      message: 'The provider failed.',
      afterFirstByte: false,
      retryAfterSeconds: 7,
      ...(status === undefined ? {} : { status }),
    });

  it.each([
    [model('model_unavailable'), 'NETWORK'],
    [model('model_timeout'), 'TIMEOUT'],
    [model('model_bad_request', 429), 'RATE_LIMIT'],
    [model('model_unavailable', 502), 'LLM_ERROR'],
    [new OutboundError({ code: 'outbound_timeout', message: 'x' }), 'TIMEOUT'],
    [new ConversationFailed(model('model_unavailable', 502)), 'LLM_ERROR'],
    [new ConversationFailed(model('model_stream_broken')), 'NETWORK'],
    [new AppError({ code: 'missing_model_key', message: 'Missing model API key' }), 'AUTH'],
    [new AppError({ code: 'odd', message: 'it timed out' }), 'TIMEOUT'],
    [Object.assign(new Error('x'), { status: 403 }), 'AUTH'],
    [Object.assign(new Error('fetch failed'), { statusCode: 200 }), 'NETWORK'],
    ['a timeout', 'TIMEOUT'],
    [new NodeFailure('timed out', 'VALIDATION'), 'VALIDATION'],
  ])('follows from the status, then from the class, then from the message: %s', (thrown, code) => {
    expect(toNodeError(thrown, 'n').code).toBe(code);
  });

  it('comes with the status and the Retry-After of the provider', () => {
    for (const thrown of [model('model_rate_limited', 429), new ConversationFailed(model('model_rate_limited', 429))])
      expect(toNodeError(thrown, 'n')).toEqual({
        message: 'The provider failed.',
        code: 'RATE_LIMIT',
        nodeId: 'n',
        statusCode: 429,
        rateLimit: { retryAfterMs: 7_000 },
      });
  });
});

describe('the message of a failure', () => {
  it('repeats an expected error, and never an unexpected one', () => {
    expect(toNodeError(refusal('Tool not registered: x'), 'n').message).toBe('Tool not registered: x');
    expect(toNodeError(new TypeError('password is "x"'), 'n').message).toBe('The node failed for an unexpected reason');
  });

  it('exists and can be stored for any thrown value', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string({ unit: 'binary', maxLength: 3_000 }), (thrown, text) => {
        for (const error of [toNodeError(thrown, 'n'), toNodeError(new NodeFailure(text, 'UNKNOWN'), 'n')]) {
          expect(error.message).not.toBe('');
          expect(error.message.length).toBeLessThanOrEqual(2_001);
          expect(error.message.isWellFormed()).toBe(true);
          expect(error.message).not.toContain('\0');
          expect(JSON.stringify(error)).not.toContain('stack');
        }
      }),
    );
  });
});

it('toNodeError marks failures that no retry can fix', () => {
  expect(isFinalFailure(refusal('no'))).toBe(true);
  expect(isFinalFailure(new NodeFailure('no', 'UNKNOWN'))).toBe(false);
  expect(isFinalFailure(new Error('no'))).toBe(false);
});
