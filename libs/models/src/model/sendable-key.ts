import type { Secret } from '#platform';

/** Whether a header can contain the key: only visible ASCII, at most 4,000 characters. (RFC 6750, section 2.1, is stricter than the keys in use.) */
export function isSendableKey(key: Secret): boolean {
  return /^[\x21-\x7e]{1,4000}$/.test(key.reveal());
}
