/** What a look at the open rows of a workspace has seen. */
export interface OpenRows {
  readonly ids: ReadonlySet<string>;
  /** The most rows that one snapshot holds. Older ids are unknown to it. */
  readonly oldest: string;
}

/** Of the ids of the newest `most` open rows, newest first. */
export function toOpenRows(newestFirst: readonly string[], most: number): OpenRows {
  return { ids: new Set(newestFirst), oldest: newestFirst.length < most ? '' : (newestFirst.at(-1) ?? '') };
}

/** The rows that were opened or settled between two snapshots. A row that one of them cannot contain counts as unchanged. Pure. */
export function changesOfOpen(before: OpenRows, now: OpenRows): readonly string[] {
  return [...missing(now, before), ...missing(before, now)];
}

/** Whether a look vouches for an open row: the looks after it tell when this row is settled. */
export function isKnown({ ids, oldest }: OpenRows, id: string): boolean {
  return ids.has(id) || id < oldest;
}

function missing({ ids }: OpenRows, other: OpenRows): readonly string[] {
  return [...ids].filter((id) => !isKnown(other, id));
}
