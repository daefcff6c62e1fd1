import type { NextFunction, Request, Response } from 'express';

import { tooLarge } from '../errors/http.errors.js';

/**
 * Refuses a body that announces to be over the limit before a byte of it is read; the parser counts the others. The
 * connection is closed with the reply, so that the rest of the body is not waited for.
 */
export function bodyLimitMiddleware(limitBytes: number) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (Number(request.headers['content-length'] ?? 0) <= limitBytes) {
      next();
      return;
    }
    response.setHeader('Connection', 'close');
    next(tooLarge(limitBytes));
  };
}
