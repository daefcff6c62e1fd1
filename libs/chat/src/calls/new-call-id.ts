import { randomBytes } from 'node:crypto';

/** A unique id of a call: `call_` and 24 hex digits. */
export function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`;
}
