/**
 * Triggers use keys with the prefix `trigger:`, count their unfinished jobs by them, and store in them how many triggered jobs led to a job.
 * So a client cannot choose such keys.
 */
export const idempotencyKeyPattern = /^(?!trigger:)[\x21-\x7e]{1,255}$/;
export const idempotencyKeyRule = 'must be 1 to 255 visible ASCII characters and must not begin with "trigger:"';

/** Returns the text if it is a valid idempotency key, else null. */
export function parseKey(given: unknown): string | null {
  return typeof given === 'string' && idempotencyKeyPattern.test(given) ? given : null;
}
