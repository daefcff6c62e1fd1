/**
 * Which rows were opened or settled between two looks at what is open; each look has at most the newest `most` ids, newest first.
 * What is older than all that the other look could hold is taken for no change. Pure.
 */
export function changesOfOpen(before: ReadonlySet<string>, now: ReadonlySet<string>, most: number): readonly string[] {
  return [...missing(now, before, most), ...missing(before, now, most)];
}

/** Those of `ids` that the other look did not see, and would have. */
function missing(ids: ReadonlySet<string>, other: ReadonlySet<string>, most: number): readonly string[] {
  const oldest = other.size < most ? '' : ([...other].at(-1) ?? '');
  return [...ids].filter((id) => !other.has(id) && id > oldest);
}
