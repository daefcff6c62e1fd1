import { invalidBody, missing } from '../errors/http.errors.js';

/** Reads `{admissionId}`: 1 to 255 visible ASCII characters. Throws `bad_request`. */
export function toAdmissionKey(body: unknown): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidBody();
  const given: unknown = 'admissionId' in body ? body.admissionId : undefined;
  if (given === undefined || given === null || given === '') throw missing('admission ID');
  return parseKey(given) ?? refuse();
}

/** The idempotency key that a text is, or null. */
export function parseKey(given: unknown): string | null {
  return typeof given === 'string' && /^[\x21-\x7e]{1,255}$/.test(given) ? given : null;
}

function refuse(): never {
  throw invalidBody('admissionId');
}
