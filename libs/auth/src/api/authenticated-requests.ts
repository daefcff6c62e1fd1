import type { IncomingMessage } from 'node:http';

import { countTextsFor } from '#platform';

const authenticated = new WeakSet<IncomingMessage>();

/** Records that the credential of a request is valid, and whose it is. */
export function markAuthenticated(request: IncomingMessage, userId: string): void {
  authenticated.add(request);
  countTextsFor(userId);
}

/** Whether the credential of the request is known to be valid. */
export function isMarkedAuthenticated(request: IncomingMessage): boolean {
  return authenticated.has(request);
}
