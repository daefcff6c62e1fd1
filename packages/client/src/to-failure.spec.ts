import { describe, expect, it } from '@jest/globals';

import { NightshiftError } from './nightshift-error.js';
import { assertTaken, toError, toSocketError } from './to-failure.js';

describe('toFailure', () => {
  it('contains the exact code of the server, the field, the request and whether a retry can succeed', () => {
    const extensions = {
      code: 'RATE_LIMITED',
      reason: 'rate_limited',
      retryable: true,
      requestId: 'r1',
      retryAfterSeconds: 3,
    };
    expect(toError({ message: 'Slow down', extensions })).toMatchObject({
      message: 'Slow down',
      code: 'rate_limited',
      requestId: 'r1',
      retryable: true,
      retryAfterMs: 3_000,
    });
    const wrong = { code: 'BAD_USER_INPUT', requestId: 'r2', retryable: false, field: 'first' };
    expect(toError({ message: 'No', extensions: wrong })).toMatchObject({
      code: 'bad_user_input',
      field: 'first',
      retryable: false,
    });
    expect(toError(undefined)).toMatchObject({ code: 'internal', retryable: true });
  });

  it('throws for the first refusal of a payload', () => {
    const refusal = { code: 'thread_busy', field: null, message: 'Busy', issues: ['a'], retryable: false };
    expect(() => {
      assertTaken({ userErrors: [refusal] });
    }).toThrow(expect.objectContaining({ code: 'thread_busy', field: undefined, issues: ['a'], retryable: false }));
    expect(() => {
      assertTaken({ userErrors: [] });
    }).not.toThrow();
  });
});

describe('toSocketError', () => {
  it.each([
    [1001, 'connection_lost', true],
    [1006, 'connection_lost', true],
    [1009, 'too_large', false],
    [4400, 'bad_request', false],
    [4401, 'unauthenticated', false],
    [4403, 'forbidden', false],
    [4408, 'connection_lost', true],
    [4409, 'conflict', false],
    [4429, 'connection_lost', true],
  ])('with the code %i becomes %s (retryable: %s)', (code, name, retryable) => {
    expect(toSocketError({ code, reason: 'because' })).toMatchObject({ code: name, retryable });
  });

  it('keeps the error code of the server or the client, and maps a socket error to connection_lost', () => {
    const extensions = { code: 'NOT_FOUND', reason: 'not_found' };
    expect(toSocketError([{ message: 'No', extensions }])).toMatchObject({ code: 'not_found', retryable: false });
    expect(toSocketError(new Event('error'))).toMatchObject({ code: 'connection_lost', retryable: true });
    const own = new NightshiftError('No token', { code: 'token_unavailable' });
    expect(toSocketError(own)).toBe(own);
  });
});
