/**
 * JSON without whitespace, with the members of every object sorted by UTF-16 code units, as in RFC 8785: equal values give equal text, in any
 * order of their members. Expects values that `JSON.parse` returned. Throws if the nesting is too deep for the stack, so the caller must
 * limit the depth.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
