import type { WantedPage } from './to-page.js';

/** A connection before its type is known to GraphQL. */
export interface ConnectionOf<T> {
  readonly edges: readonly { readonly cursor: string; readonly node: T }[];
  readonly nodes: readonly T[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  /** Read only when it is selected, and counted then. */
  readonly totalCount: Promise<number> | null;
}

/** How to make a connection out of rows. */
export interface ConnectionInit<T> {
  readonly page: WantedPage;
  readonly cursorOf: (row: T) => string;
  readonly count?: () => Promise<number>;
}

/** Cuts `rows` (one more than the limit when there are more) into a page, in the order of the list. */
export function toConnection<T>(rows: readonly T[], { page, cursorOf, count }: ConnectionInit<T>): ConnectionOf<T> {
  const hasMore = rows.length > page.limit;
  const cut = rows.slice(0, page.limit);
  const nodes = page.reverse ? cut.reverse() : cut;
  const edges = nodes.map((node) => ({ cursor: cursorOf(node), node }));
  const came = page.cursor !== undefined;
  return {
    edges,
    nodes,
    pageInfo: {
      hasNextPage: page.reverse ? came : hasMore,
      hasPreviousPage: page.reverse ? hasMore : came,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    get totalCount() {
      return count?.() ?? null;
    },
  };
}
