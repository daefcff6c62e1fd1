import type { IncomingMessage } from 'node:http';

const authenticated = new WeakSet<IncomingMessage>();

/** Records that the credential of a request is valid. */
export function markAuthenticated(request: IncomingMessage): void {
  authenticated.add(request);
}

/** Whether the credential of the request is known to be valid. */
export function isMarkedAuthenticated(request: IncomingMessage): boolean {
  return authenticated.has(request);
}
