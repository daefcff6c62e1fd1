/** Leaves space for a prefix and a suffix in the name of a tool. */
const longest = 48;

/** Converts a name to an id: lower case letters, digits, `_` and `-`, 48 at most; empty if no character remains. Pure. */
export function toSlug(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return trimmed(trimmed(plain.replace(/[^a-z0-9_]+/g, '-')).slice(0, longest));
}

function trimmed(text: string): string {
  return text.replace(/^[-_]+|[-_]+$/g, '');
}
