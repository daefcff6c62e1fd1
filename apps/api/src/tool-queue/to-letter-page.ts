import type { PageRequest } from '#auth';

import { idOfCursor } from '../graphql/connections/cursor.js';
import type { DeadToolCallQuery } from './dead-tool-call-schemas.js';

/** The list's name in its cursors, the same in both APIs. */
export const deadLetters = 'deadToolCalls';

/** Throws `invalid_cursor`. */
export function toLetterPage({ limit, after }: DeadToolCallQuery): PageRequest {
  return { first: limit, ...(after === undefined ? {} : { after: idOfCursor(after, deadLetters, 'after') }) };
}
