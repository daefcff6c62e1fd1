/**
 * Whether the whole of `text` fits `pattern`: `*` stands for any run of characters, also none, `?` for exactly one, everything
 * else for itself. Case counts. At most length × length steps for any pattern: only the last `*` is ever tried again.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  const wanted = Array.from(pattern);
  const given = Array.from(text);
  let w = 0;
  let star = -1;
  let resume = 0;
  for (let g = 0; g < given.length;) {
    if (wanted[w] === '*') {
      star = w++;
      resume = g;
    } else if (w < wanted.length && (wanted[w] === '?' || wanted[w] === given[g])) {
      w++;
      g++;
    } else if (star >= 0) {
      w = star + 1;
      g = ++resume;
    } else return false;
  }
  return wanted.slice(w).every((char) => char === '*');
}
