/** A keyset page: at most `first` (1 to 100, clamped) entries after the one whose id is `after`. */
export interface PageRequest {
  readonly first: number;
  readonly after?: string | undefined;
}

/** One page; `hasMore` is whether another follows. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
}
