/** The one of `words` that is at most two typing mistakes away from `word`, if there is one. */
export function closestWord(word: string, words: readonly string[]): string | undefined {
  const ranked = words.map((candidate) => ({ candidate, distance: editDistance(word, candidate) }));
  const [best] = ranked.sort((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= 2 ? best.candidate : undefined;
}

/** Levenshtein's distance: insertions, deletions and replacements. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [at, letter] of from.split('').entries()) {
    const next = [at + 1];
    for (const [index, other] of to.split('').entries()) {
      const replaced = (row[index] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
