import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

import type { NextFunction, Request, Response } from 'express';

import { AppError } from '#platform';

/** Paths of health checks: load balancers call them under any host name, and every caller gets the same response. */
const open = new Set(['/healthz', '/readyz']);

/**
 * The host names that this server accepts; null: any. A server on a loopback address accepts only `localhost` and ALLOWED_HOSTS: otherwise
 * a web page could resolve its own host name to 127.0.0.1 and read responses of a local instance (DNS rebinding).
 */
export function hostNamesOf(listening: string, allowedHosts: readonly string[]): ReadonlySet<string> | null {
  const isLoopback = listening === 'localhost' || listening === '::1' || listening.startsWith('127.');
  if (!isLoopback && allowedHosts.length === 0) return null;
  return new Set(['localhost', listening.toLowerCase(), ...allowedHosts.map((name) => name.toLowerCase())]);
}

/** Whether the `Host` of a request is one of the names, or an address: an address cannot be rebound. */
export function isKnownHost({ host }: IncomingHttpHeaders, names: ReadonlySet<string> | null): boolean {
  if (names === null) return true;
  if (host === undefined) return false;
  const name = /^\[([^\]]+)\](?::\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, '').replace(/\.$/, '').toLowerCase();
  return isIP(name) !== 0 || names.has(name) || name.endsWith('.localhost');
}

/** Refuses requests for another host (421, RFC 9110, section 15.5.20). */
export function hostMiddleware(names: ReadonlySet<string> | null) {
  return ({ headers, path }: Request, _: Response, next: NextFunction): void => {
    if (open.has(path) || isKnownHost(headers, names)) next();
    else next(wrongHost());
  };
}

function wrongHost(): AppError {
  const message = 'This server does not accept the Host header of the request. Add the host name to ALLOWED_HOSTS';
  return new AppError({ code: 'wrong_host', message });
}
