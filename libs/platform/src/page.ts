/** A keyset page: at most `first` entries (1 to 100, clamped) after the entry with the id `after`. */
export interface PageRequest {
  readonly first: number;
  readonly after?: string | undefined;
}

/** A page of a list; `hasMore`: whether another page follows. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
}
