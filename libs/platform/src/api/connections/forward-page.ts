import type { Page, PageRequest } from '../../page.js';
import { idOfCursor, toCursor } from './cursor.js';
import type { ForwardPageArgs } from './page.args.js';
import { type ConnectionOf, toConnection } from './to-connection.js';
import { toWantedPage } from './to-page.js';

/** Converts the arguments of a forward-only list to a page request of the services. Throws `bad_request`, `invalid_cursor`. */
export function toForwardPage(args: ForwardPageArgs, kind: string): PageRequest {
  const { limit, cursor } = toWantedPage(args);
  return { first: limit, ...(cursor === undefined ? {} : { after: idOfCursor(cursor, kind, 'after') }) };
}

/** Converts the page of a service to a connection without a count. */
export function toForwardConnection<T>(
  { items, hasMore }: Page<T>,
  args: ForwardPageArgs,
  { kind, idOf }: { readonly kind: string; readonly idOf: (row: T) => string },
): ConnectionOf<T> {
  const page = toWantedPage(args);
  const connection = toConnection(items, { page, cursorOf: (row) => toCursor(kind, idOf(row)) });
  return { ...connection, totalCount: null, pageInfo: { ...connection.pageInfo, hasNextPage: hasMore } };
}
