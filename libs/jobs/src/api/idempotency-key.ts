/** 1 to 255 visible ASCII characters. */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/** The idempotency key that a text is, or null. */
export function parseKey(given: unknown): string | null {
  return typeof given === 'string' && idempotencyKeyPattern.test(given) ? given : null;
}
