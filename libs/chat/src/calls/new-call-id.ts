import { randomBytes } from 'node:crypto';

/** An id of a call that no other call has: `call_` and 24 hex digits. */
export function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`;
}
