import { NightshiftError } from '@nightshift/client';

import { notFound } from '../cli.errors.js';
import type { Context } from '../context.js';

/** What every mutation returns. */
export interface Payload {
  readonly userErrors: readonly { readonly code: string; readonly message: string }[];
}

/** What a mutation changed. Throws its first user error. */
export function changed<T>({ userErrors }: Payload, value: T | null): T {
  const [refusal] = userErrors;
  if (refusal !== undefined) throw new NightshiftError(refusal.message, { code: refusal.code });
  if (value === null) throw new NightshiftError('The server returned no result and no error', { code: 'bad_response' });
  return value;
}

/** A page of a list. */
export interface ConnectionPage<Row> {
  readonly nodes: readonly Row[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** Every row of a list, page by page. A list that the credential may not read is absent, and reads as not found. */
export async function allPages<Row>(
  read: (page: { first: number; after: string | undefined }) => Promise<ConnectionPage<Row> | null | undefined>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let after: string | undefined;
  for (let more = true; more;) {
    const page = await read({ first: 100, after });
    if (page === null || page === undefined)
      throw notFound('The workspace', 'Use a key of an owner or admin with the scope admin.');
    rows.push(...page.nodes);
    after = page.pageInfo.endCursor ?? undefined;
    more = page.pageInfo.hasNextPage;
  }
  return rows;
}

/** The first rows of a list, at most `limit`, in pages of at most 100. */
export async function firstRows<Row>(
  limit: number,
  read: (page: { first: number; after: string | undefined }) => Promise<ConnectionPage<Row>>,
): Promise<{ readonly rows: Row[]; readonly hasMore: boolean }> {
  const rows: Row[] = [];
  let after: string | undefined;
  do {
    const { nodes, pageInfo } = await read({ first: Math.min(100, limit - rows.length), after });
    rows.push(...nodes);
    after = pageInfo.hasNextPage ? (pageInfo.endCursor ?? undefined) : undefined;
  } while (after !== undefined && rows.length < limit);
  return { rows, hasMore: after !== undefined };
}

/** Says on standard error that a list has more rows than were printed, so that a script that reads the first ones does not take them for all. */
export function noteMore({ screen }: Pick<Context, 'screen'>, limit: number, hasMore: boolean): void {
  if (hasMore) screen.note(`Only the first ${limit} are shown. Set a higher --limit to see more.`);
}
