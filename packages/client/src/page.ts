import type { WaitOptions } from './wait-options.js';

/** The page of a list. */
export interface PageOptions extends WaitOptions {
  /** 1 to 100; 20 by default. */
  readonly first?: number | undefined;
  /** The `endCursor` of the previous page. */
  readonly after?: string | undefined;
}

export interface Page<Entry> {
  readonly nodes: readonly Entry[];
  readonly hasNextPage: boolean;
  /** The cursor for the next page; null: this page is empty. */
  readonly endCursor: string | null;
}

interface ConnectionPage<Entry> {
  readonly nodes: readonly Entry[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

export function toPage<Entry>({ nodes, pageInfo }: ConnectionPage<Entry>): Page<Entry> {
  return { nodes, hasNextPage: pageInfo.hasNextPage, endCursor: pageInfo.endCursor };
}
