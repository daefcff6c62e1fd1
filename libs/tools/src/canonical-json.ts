/**
 * JSON without whitespace, with the members of every object sorted by UTF-16 code units, as in RFC 8785: equal values give equal text, in any
 * order of their members. Expects values that `JSON.parse` returned. Throws if the nesting is too deep for the stack, so the caller must
 * limit the depth.
 */
export function canonicalJson(value: unknown): string {
  // Added with `+=`, which copies no text. `join` would copy the text of a value once for each level around it.
  if (Array.isArray(value)) {
    let items = '';
    for (const item of value as readonly unknown[]) items += `${items === '' ? '' : ','}${canonicalJson(item)}`;
    return `[${items}]`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  let members = '';
  for (const [key, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}
