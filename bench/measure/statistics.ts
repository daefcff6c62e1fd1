/** The middle value; of an even number the lower middle, so that it is one that was measured. NaN for none. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** The smallest value that `percent` of all do not exceed (nearest rank). NaN for none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

/** For tables: three significant digits, and no more decimals than mean something. */
export function rounded(value: number): number {
  return Number(value.toPrecision(Math.abs(value) >= 1_000 ? 4 : 3));
}
