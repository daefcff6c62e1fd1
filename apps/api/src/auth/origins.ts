import type { IncomingHttpHeaders } from 'node:http';

import type { NextFunction, Request, Response } from 'express';

/** Response headers that a page on another origin may read. */
const exposed = [
  ...['X-Job-Id', 'X-Request-Id', 'X-Session-Id', 'X-Ignored', 'X-Waiting-Approval', 'Retry-After'],
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'Idempotent-Replayed', 'X-Should-Retry'],
].join(', ');
const preflightSeconds = '600';

/**
 * Cross-Origin Resource Sharing (Fetch Standard, section 3.2) for the origins of ALLOWED_ORIGINS, on every HTTP API. Requests carry a bearer
 * credential, so cookies are never allowed. Other origins get no CORS headers, so the browser blocks the response.
 */
export function corsMiddleware(allowed: readonly string[]) {
  return ({ method, headers }: Request, response: Response, next: NextFunction): void => {
    if (allowed.length > 0) response.vary('Origin');
    const { origin } = headers;
    if (origin === undefined || !allowed.includes(origin)) {
      next();
      return;
    }
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Expose-Headers', exposed);
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) {
      next();
      return;
    }
    response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE');
    response.setHeader('Access-Control-Allow-Headers', headers['access-control-request-headers'] ?? 'Authorization');
    response.setHeader('Access-Control-Max-Age', preflightSeconds);
    response.status(204).end();
  };
}

/** Whether a WebSocket comes from a page that may connect: of this host, or of an allowed origin. Other clients send no `Origin`. */
export function isAllowedOrigin({ origin, host }: IncomingHttpHeaders, allowed: readonly string[]): boolean {
  if (origin === undefined || allowed.includes(origin)) return true;
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
