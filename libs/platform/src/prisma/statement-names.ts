const mostTexts = 1_000;

/**
 * Names for statements of one pool: under a name, a connection parses a text once. A text gets its name when it is used for the second
 * time, and at most 1,000 texts do: each name costs memory in every connection, and lists of variable length make texts that do not recur.
 */
export function statementNames(most = mostTexts): (query: { readonly sql: string }) => string {
  const names = new Map<string, string>();
  const usedOnce = new Set<string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (!usedOnce.delete(sql) || names.size >= most) {
      if (usedOnce.size >= most) usedOnce.clear();
      usedOnce.add(sql);
      return ''; // no name
    }
    const name = `prisma-${names.size + 1}`;
    names.set(sql, name);
    return name;
  };
}
