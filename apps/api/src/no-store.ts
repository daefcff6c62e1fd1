import type { NextFunction, Request, Response } from 'express';

/** What we answer is for its caller, now: no cache keeps it. Streams say so in their own words. */
export function noStoreMiddleware(_: Request, response: Response, next: NextFunction): void {
  response.setHeader('Cache-Control', 'no-store, private');
  next();
}
