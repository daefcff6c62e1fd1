import type { NextFunction, Request, Response } from 'express';

import { newId } from '#platform';

const header = 'X-Request-Id';
const sane = /^[A-Za-z0-9._:-]{1,128}$/;

/** Gives every reply its `X-Request-Id`: the caller's own if it can be logged as it is, else a new one. */
export function requestIdMiddleware(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  response.setHeader(header, typeof given === 'string' && sane.test(given) ? given : newId());
  next();
}

/** The id that the middleware above has given to this reply. */
export function requestIdOf(response: { getHeader(name: string): unknown }): string {
  const id = response.getHeader(header);
  return typeof id === 'string' ? id : '';
}
