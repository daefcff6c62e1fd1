/** One position of a segment: `*`, or a test of one character. */
type Token = '*' | ((char: string) => boolean);

/** Whether a collection matches. */
export type CollectionGlob = (collection: string) => boolean;

/**
 * Compiles a pattern of collections: `*` and `?` stay within a segment, `[a-z]` and `[^a-z]` are classes, everything else stands for itself.
 * At most pattern × text steps: only the last `*` is tried again. Throws a plain `Error` that names the problem.
 */
export function compileGlob(pattern: string): CollectionGlob {
  if (!/[*?[]/u.test(pattern)) return (collection) => collection === pattern;
  const segments = pattern.split('/').map(toTokens);
  return (collection) => {
    const given = collection.split('/');
    return given.length === segments.length && segments.every((tokens, i) => matches(tokens, given[i] ?? ''));
  };
}

function toTokens(segment: string): readonly Token[] {
  const tokens: Token[] = [];
  const chars = Array.from(segment);
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i] ?? '';
    if (char === '*') tokens.push('*');
    else if (char === '?') tokens.push(() => true);
    else if (char === '[') {
      const end = chars.indexOf(']', i + 2);
      if (end < 0) throw new Error('a class has no end');
      tokens.push(toClass(chars.slice(i + 1, end)));
      i = end;
    } else tokens.push((given) => given === char);
  }
  return tokens;
}

function toClass(chars: readonly string[]): (char: string) => boolean {
  const isNegated = chars[0] === '^' || chars[0] === '!';
  const listed = isNegated ? chars.slice(1) : chars;
  const ranges: [string, string][] = [];
  for (let i = 0; i < listed.length; i++) {
    const from = listed[i] ?? '';
    const to = listed[i + 1] === '-' ? listed[i + 2] : undefined;
    if (to !== undefined && to < from) throw new Error(`the range ${from}-${to} is reversed`);
    ranges.push([from, to ?? from]);
    if (to !== undefined) i += 2;
  }
  if (ranges.length === 0) throw new Error('a class is empty');
  return (char) => ranges.some(([from, to]) => char >= from && char <= to) !== isNegated;
}

function matches(tokens: readonly Token[], text: string): boolean {
  const chars = Array.from(text);
  let t = 0;
  let star = -1;
  let resume = 0;
  for (let c = 0; c < chars.length;) {
    const token = tokens[t];
    if (token === '*') {
      star = t++;
      resume = c;
    } else if (token?.(chars[c] ?? '') === true) {
      t++;
      c++;
    } else if (star >= 0) {
      t = star + 1;
      c = ++resume;
    } else return false;
  }
  return tokens.slice(t).every((token) => token === '*');
}
