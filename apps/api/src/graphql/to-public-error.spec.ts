import { describe, expect, it } from '@jest/globals';
import { buildSchema, GraphQLError, graphqlSync } from 'graphql';

import { AppError, createLogger } from '#platform';

import { statusOf, toPublicError, toRequestError } from './to-public-error.js';

const context = { requestId: 'req-1', logger: createLogger({ level: 'silent' }) };
const schema = buildSchema('type Query { a(n: Int): String! }');

function failWith(thrown: unknown) {
  const { errors = [] } = graphqlSync({
    schema,
    source: '{ a }',
    rootValue: {
      a: () => {
        throw thrown;
      },
    },
  });
  return errors.map((error) => toPublicError(error, context))[0];
}

describe('toPublicError', () => {
  it('returns the message and the code of an expected error', () => {
    const thrown = new AppError({ code: 'rate_limited', message: 'Slow down', retryable: true, retryAfterSeconds: 3 });
    expect(failWith(thrown)).toMatchObject({
      message: 'Slow down',
      path: ['a'],
      extensions: {
        code: 'RATE_LIMITED',
        reason: 'rate_limited',
        retryable: true,
        retryAfterSeconds: 3,
        requestId: 'req-1',
      },
    });
  });

  it('hides the message of an unexpected error', () => {
    const hidden = { message: 'Internal error', extensions: { code: 'INTERNAL', retryable: true, requestId: 'req-1' } };
    expect(failWith(new Error('password=hunter2'))).toMatchObject(hidden);
    expect(failWith(new AppError({ code: 'nobody_knows', message: 'secret' }))).toMatchObject(hidden);
    expect(failWith('text')).toMatchObject(hidden);
    expect(JSON.stringify(failWith(new Error('x')))).not.toMatch(/stack|\.ts:/);
  });

  it('explains an invalid request without suggesting other names', () => {
    const { errors = [] } = graphqlSync({ schema, source: '{ aa }' });
    const [shown] = errors.map((error) => toPublicError(error, context));
    expect(shown?.message).toBe('Cannot query field "aa" on type "Query".');
    expect(shown?.extensions).toEqual({ code: 'BAD_USER_INPUT', retryable: false, requestId: 'req-1' });
    const wrong =
      graphqlSync({ schema, source: 'query($n: Int) { a(n: $n) }', variableValues: { n: 'x' } }).errors ?? [];
    expect(wrong.map((error) => toPublicError(error, context).extensions?.['code'])).toEqual(['BAD_USER_INPUT']);
  });

  it('sets the HTTP status of the rejected request', () => {
    expect(statusOf(toRequestError(new AppError({ code: 'unauthenticated', message: 'x' })))).toBe(401);
    expect(statusOf(new GraphQLError('x'))).toBe(400);
    expect(statusOf(toRequestError(new Error('x')))).toBe(500);
  });
});
