import { describe, expect, it } from '@jest/globals';
import { HttpException, NotFoundException } from '@nestjs/common';

import { AppError, rateLimited } from '#platform';

import { toErrorReply } from './error.filter.js';

const context = { requestId: 'r1', maxBodyBytes: 1_000 };

describe('toErrorReply', () => {
  it('returns code, message and field of an expected failure', () => {
    const error = new AppError({ code: 'bad_request', message: 'Missing _threadId', field: '_threadId' });
    expect(toErrorReply(error, context)).toEqual({
      status: 400,
      headers: {},
      body: { error: 'Missing _threadId', code: 'bad_request', retryable: false, requestId: 'r1', field: '_threadId' },
    });
  });

  it('hides the text of an unexpected error from the caller and logs it', () => {
    const bug = new Error('password=hunter2 at db.internal');
    expect(toErrorReply(bug, context)).toEqual({
      status: 500,
      headers: {},
      body: { error: 'Internal error', code: 'internal', retryable: true, requestId: 'r1' },
      unexpected: bug,
    });
  });

  it('returns `internal` for an error code that the table does not list', () => {
    const reply = toErrorReply(new AppError({ code: 'migration_failed', message: 'secret file name' }), context);
    expect(reply.body).toEqual({ error: 'Internal error', code: 'internal', retryable: true, requestId: 'r1' });
  });

  it('names a rate limit, its value, who can raise it and when to retry', () => {
    const limit = {
      name: 'STARTS_PER_MINUTE',
      value: 600,
      raisedBy: 'operator',
      counts: 'starts in a minute',
    } as const;
    const reply = toErrorReply(rateLimited(limit, 7), context);
    expect(reply.status).toBe(429);
    expect(reply.headers).toEqual({ 'Retry-After': '7', 'X-RateLimit-Limit': '600', 'X-RateLimit-Remaining': '0' });
    expect(reply.body).toEqual({
      error:
        'Rate limit exceeded. Retry after 7s. At most 600 starts in a minute (STARTS_PER_MINUTE). The operator of this server can raise it.',
      ...{
        code: 'rate_limited',
        retryable: true,
        requestId: 'r1',
        limit: 'STARTS_PER_MINUTE',
        limitValue: 600,
        raisedBy: 'operator',
      },
    });
  });

  it('returns the details of an error beside its message', () => {
    const error = new AppError({ code: 'conflict', message: 'x', details: { callStatus: 'running' } });
    expect(toErrorReply(error, context).body).toMatchObject({ callStatus: 'running', code: 'conflict' });
  });

  it.each([
    [new HttpException('request entity too large', 413), 413, 'too_large', 'Request body exceeds 1000 bytes'],
    [
      new HttpException(`Failed to decode param '%FF'`, 400),
      400,
      'bad_request',
      'The path of the URL cannot be decoded',
    ],
    [new HttpException('Range Not Satisfiable', 416), 400, 'bad_request', 'Invalid request'],
    [new NotFoundException('Cannot GET /secret'), 404, 'not_found', 'Not found'],
    [new HttpException('encoding', 415), 415, 'unsupported_media_type', 'Unsupported encoding of the request body'],
  ])('sets a code and a message of its own for a refusal of the framework', (thrown, ...expected) => {
    const reply = toErrorReply(thrown, context);
    expect([reply.status, reply.body.code, reply.body.error]).toEqual(expected);
  });

  it('returns `Internal error` for a 500 of the framework', () => {
    expect(toErrorReply(new HttpException('stack', 500), context).body.error).toBe('Internal error');
  });
});
