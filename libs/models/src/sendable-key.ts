import type { Secret } from '#platform';

/** Whether a header can carry the key: visible ASCII only (RFC 6750, 2.1 is stricter; real keys are not), at most 4,000 characters. */
export function isSendableKey(key: Secret): boolean {
  return /^[\x21-\x7e]{1,4000}$/.test(key.reveal());
}
