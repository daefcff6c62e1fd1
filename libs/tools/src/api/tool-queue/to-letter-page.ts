import type { PageRequest } from '#platform';
import { idOfCursor } from '#platform/api';

import type { DeadToolCallQuery } from './dead-tool-call-schemas.js';

/** The name of the list in its cursors, the same in both APIs. */
export const deadLetters = 'deadToolCalls';

/** Throws `invalid_cursor`. */
export function toLetterPage({ limit, after }: DeadToolCallQuery): PageRequest {
  return { first: limit, ...(after === undefined ? {} : { after: idOfCursor(after, deadLetters, 'after') }) };
}
