/**
 * Whether the whole of `text` matches `pattern`: `*` matches any number of characters, including none; `?` matches exactly one; all other
 * characters match themselves, with their case. Takes at most length × length steps, because only the last `*` is retried.
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
