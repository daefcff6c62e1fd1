/** Keys with the prefix `trigger:` count how many jobs in a row were started by the end of the one before, so a client cannot choose them. */
export const idempotencyKeyPattern = /^(?!trigger:)[\x21-\x7e]{1,255}$/;
export const idempotencyKeyRule = 'must be 1 to 255 visible ASCII characters and must not begin with "trigger:"';

/** The idempotency key that a text is, or null. */
export function parseKey(given: unknown): string | null {
  return typeof given === 'string' && idempotencyKeyPattern.test(given) ? given : null;
}
