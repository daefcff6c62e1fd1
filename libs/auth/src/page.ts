import { isId, type Page, type PageRequest } from '#platform';

import { invalidInput } from './auth.errors.js';

/** How many rows to read for a page: one more than requested, which shows whether there is a next page. */
export function rowsFor(page: PageRequest): { readonly take: number; readonly after: string | undefined } {
  if (page.after !== undefined && !isId(page.after))
    throw invalidInput('after', 'This cursor is not valid. Use a cursor of an earlier page');
  const wanted = Number.isFinite(page.first) ? Math.trunc(page.first) : 100;
  return { take: Math.min(100, Math.max(1, wanted)) + 1, after: page.after };
}

/** Removes the extra row. */
export function toPage<T>(rows: readonly T[], take: number): Page<T> {
  return { items: rows.slice(0, take - 1), hasMore: rows.length === take };
}
