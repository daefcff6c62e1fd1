import { describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';

import { isId } from '#platform';

import { requestIdMiddleware, requestIdOf } from './request-id.js';

function idFor(given: string | undefined): string {
  const headers = new Map<string, unknown>();
  const response = {
    setHeader: (name: string, value: unknown) => headers.set(name, value),
    getHeader: (name: string) => headers.get(name),
  };
  const request = { headers: { 'x-request-id': given } };
  // The middleware looks at nothing else of either.
  requestIdMiddleware(request as unknown as Request, response as unknown as Response, () => undefined);
  return requestIdOf(response);
}

describe('request id', () => {
  it.each(['abc-123', 'trace:1.2_3', 'x'.repeat(128)])('keeps the caller’s id when it can be logged: %s', (given) => {
    expect(idFor(given)).toBe(given);
  });

  it.each([undefined, '', 'a b', 'a\nb', 'ä', 'x'.repeat(129), '<script>'])(
    'generates a new id instead of %p',
    (given) => {
      expect(isId(idFor(given))).toBe(true);
    },
  );
});
