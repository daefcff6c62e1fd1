import { describe, expect, it } from '@jest/globals';

import { Secret } from '#platform';

import { providerFailed, readFailure, readFailureBody } from './provider-failure.js';

const failed = (failure: object) => providerFailed({ text: '', afterFirstByte: false, ...failure }, null);

describe('providerFailed', () => {
  it.each([
    [400, 'model_bad_request', false],
    [401, 'model_unauthorized', false],
    [402, 'model_unauthorized', false],
    [403, 'model_unauthorized', false],
    [404, 'model_bad_request', false],
    [307, 'model_bad_request', false],
    [408, 'model_timeout', true],
    [429, 'model_rate_limited', true],
    [500, 'model_unavailable', true],
    [503, 'model_unavailable', true],
    [529, 'model_unavailable', true],
  ])('maps the status %i to the code %s', (status, code, retryable) => {
    expect(failed({ status })).toMatchObject({ code, retryable, status, details: { status } });
  });

  it.each([
    ['rate_limit_exceeded', 'model_rate_limited'],
    ['server_error', 'model_unavailable'],
    ['overloaded_error', 'model_unavailable'],
    ['context_length_exceeded', 'model_bad_request'],
    ['invalid_api_key', 'model_unauthorized'],
    ['something', 'model_error'],
  ])('maps the code %s in a stream to the code %s', (providerCode, code) => {
    expect(failed({ providerCode })).toMatchObject({ code });
  });

  it('does not retry after a quota is used up', () => {
    expect(failed({ status: 429, providerCode: 'insufficient_quota' })).toMatchObject({
      code: 'model_unauthorized',
      retryable: false,
    });
  });

  it('shows at most 200 characters of the error text of the provider, on one line, without the key', () => {
    const key = 'the-very-own-canary-key';
    const error = providerFailed(
      {
        status: 401,
        text: `bad\nkey ${key} and sk-abcdefghijklmnopqrstuv ${'x'.repeat(500)}\0`,
        afterFirstByte: false,
      },
      new Secret(key),
    );
    const shown = String(error.details['providerText']);

    expect(shown).toHaveLength(200);
    expect(shown).toMatch(/^bad key \[redacted\] and \[redacted\] x+$/);
    expect(JSON.stringify([error, error.message])).not.toContain(key);
  });

  it('redacts a key before it truncates the text', () => {
    const key = 'the-very-own-canary-key';
    const error = providerFailed({ status: 401, text: 'x'.repeat(190) + key, afterFirstByte: false }, new Secret(key));
    expect(error.message).not.toContain('the-very');
  });
});

describe('readFailure', () => {
  it.each([
    ['plain', { text: 'plain' }],
    [
      { message: 'm', code: 429 },
      { text: 'm', status: 429 },
    ],
    [
      { message: 'm', code: '503' },
      { text: 'm', status: 503 },
    ],
    [
      { message: 'm', code: 'bad', type: 't' },
      { text: 'm', providerCode: 'bad' },
    ],
    [
      { message: 'm', code: null, type: 'server_error' },
      { text: 'm', providerCode: 'server_error' },
    ],
    [undefined, { text: '' }],
    [7, { text: '' }],
  ])('reads %j', (error, read) => {
    expect(readFailure(error)).toEqual(read);
  });

  it.each([
    ['{"error":{"message":"m","code":"c"}}', { text: 'm', providerCode: 'c' }],
    ['{"error":"m"}', { text: 'm' }],
    ['[{"error":{"message":"m","code":400}}]', { text: 'm', status: 400 }],
    ['{"message":"m"}', { text: 'm' }],
    ['{"detail":"m"}', { text: 'm' }],
    ['{"detail":[{"loc":1}]}', { text: '' }],
    ['upstream failed', { text: 'upstream failed' }],
    ['<html><body>502</body></html>', { text: '' }],
    ['', { text: '' }],
    ['null', { text: '' }],
  ])('reads the body %s', (body, read) => {
    expect(readFailureBody(body)).toEqual(read);
  });
});
