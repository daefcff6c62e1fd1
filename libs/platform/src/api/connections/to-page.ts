import { graphqlLimits } from '../graphql-limits.js';
import { invalidPage } from './connection.errors.js';
import type { PageArgs } from './page.args.js';

/** A page request for repositories. */
export interface WantedPage {
  readonly limit: number;
  /** The cursor after which the page begins, in the direction of the page. */
  readonly cursor: string | undefined;
  /** The argument with the cursor. */
  readonly field: 'after' | 'before';
  /** Whether the page is at the end of the list. */
  readonly reverse: boolean;
}

/** Reads the page arguments (GraphQL Cursor Connections, 4). Throws `bad_request` for sizes out of range or both directions. */
export function toWantedPage(args: PageArgs): WantedPage {
  const { first, after, last, before } = args;
  if (first != null && last != null) throw invalidPage('last', 'Give first or last, not both');
  if (last == null && before != null) throw invalidPage('before', 'before goes with last');
  if (last != null && after != null) throw invalidPage('after', 'after goes with first');
  const reverse = last != null;
  const limit = (reverse ? last : first) ?? graphqlLimits.defaultPageSize;
  const field = reverse ? 'last' : 'first';
  if (limit < 1 || limit > graphqlLimits.pageSize) {
    throw invalidPage(field, `${field} must be 1 to ${graphqlLimits.pageSize}`);
  }
  return { limit, cursor: (reverse ? before : after) ?? undefined, field: reverse ? 'before' : 'after', reverse };
}

/** The cost of a paged list: its size times the cost of an entry. */
export function pageCost({
  args,
  childComplexity,
}: {
  args: Record<string, unknown>;
  childComplexity: number;
}): number {
  const wanted = args['first'] ?? args['last'];
  const size = typeof wanted === 'number' ? wanted : graphqlLimits.defaultPageSize;
  return 1 + Math.min(Math.max(size, 1), graphqlLimits.pageSize) * childComplexity;
}

/** The cost of a list of about `size` entries that is not paged. */
export function listCost(size: number): (options: { childComplexity: number }) => number {
  return ({ childComplexity }) => 1 + size * childComplexity;
}
