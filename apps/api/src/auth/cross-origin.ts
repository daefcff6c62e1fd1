import type { IncomingMessage } from 'node:http';

import type { NextFunction, Request, Response } from 'express';

import { crossOriginRefused } from '#platform/api';

const readOnly = new Set(['GET', 'HEAD', 'OPTIONS']);
const toolIntents = new Set(['claim', 'validate', 'result']);

/**
 * Whether a request could be another site speaking with this browser's cookie: it would change something, carries a cookie
 * and no bearer credential, and does not prove that a page of ours sent it (own `Origin`, JSON, an intent header, which a
 * foreign page cannot set without a preflight that we never grant).
 */
export function isCrossOriginRisk({ method = 'GET', headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  if (readOnly.has(method) || headers.cookie === undefined || headers.authorization !== undefined) return false;
  const toolIntent = headers['x-or3-tool-intent'];
  const hasIntent =
    headers['x-or3-cloud-intent'] === 'mutation' || (typeof toolIntent === 'string' && toolIntents.has(toolIntent));
  return !(isOwnOrigin(headers) && isJson(headers['content-type']) && hasIntent);
}

/** Refuses such requests before anything reads them. */
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
