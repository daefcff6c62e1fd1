import type { IncomingMessage } from 'node:http';

import type { NextFunction, Request, Response } from 'express';

import { crossOriginRefused } from '#platform/api';

const readOnly = new Set(['GET', 'HEAD', 'OPTIONS']);
const toolIntents = new Set(['claim', 'validate', 'result']);

/**
 * Whether another site could have sent this request with the cookie of the browser: the request may change data, carries a cookie and no
 * bearer credential, and does not prove that it comes from our own page. The proof is all three: an own `Origin`, a JSON body, and an
 * intent header, which a foreign page cannot set without a preflight that the server never grants.
 */
export function isCrossOriginRisk({ method = 'GET', headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  if (readOnly.has(method) || headers.cookie === undefined || headers.authorization !== undefined) return false;
  const toolIntent = headers['x-or3-tool-intent'];
  const hasIntent =
    headers['x-or3-cloud-intent'] === 'mutation' || (typeof toolIntent === 'string' && toolIntents.has(toolIntent));
  return !(isOwnOrigin(headers) && isJson(headers['content-type']) && hasIntent);
}

/** Rejects requests with that risk before any other handler reads them. */
export function crossOriginMiddleware(request: Request, _: Response, next: NextFunction): void {
  if (isCrossOriginRisk(request)) next(crossOriginRefused());
  else next();
}

function isOwnOrigin({ origin, host }: IncomingMessage['headers']): boolean {
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/json\s*(;|$)/i.test(contentType);
}
