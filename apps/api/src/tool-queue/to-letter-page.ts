import type { PageRequest } from '#auth';

import { invalidParameter } from '../errors/http.errors.js';
import { idOfCursor } from '../graphql/connections/cursor.js';

/** The list's name in its cursors, the same at both doors. */
export const deadLetters = 'deadToolCalls';

const defaultLimit = 20;
const mostAtOnce = 100;

/** Reads `?limit` (1 to 100) and `?after`. Throws `bad_request`, `invalid_cursor`. */
export function toLetterPage({ limit = String(defaultLimit), after }: Readonly<Record<string, unknown>>): PageRequest {
  if (typeof limit !== 'string' || !/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > mostAtOnce) {
    throw invalidParameter('limit');
  }
  if (after === undefined || after === '') return { first: Number(limit) };
  if (typeof after !== 'string') throw invalidParameter('after');
  return { first: Number(limit), after: idOfCursor(after, deadLetters, 'after') };
}
