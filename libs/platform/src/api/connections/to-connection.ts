import type { WantedPage } from './to-page.js';

/** A connection before GraphQL resolves its fields. */
export interface ConnectionOf<T> {
  readonly edges: readonly { readonly cursor: string; readonly node: T }[];
  readonly nodes: readonly T[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  /** Counted only if the client selects it. */
  readonly totalCount: Promise<number> | null;
}

/** The input of a connection. */
export interface ConnectionInit<T> {
  readonly page: WantedPage;
  readonly cursorOf: (row: T) => string;
  readonly count?: () => Promise<number>;
}

/** Makes a page from `rows`, in the order of the list. `rows` has one more than the limit if a next page exists. */
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

/** The only page of an empty list. */
export function emptyConnection(): ConnectionOf<never> {
  const pageInfo = { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null };
  return { edges: [], nodes: [], pageInfo, totalCount: Promise.resolve(0) };
}
