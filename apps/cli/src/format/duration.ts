const units = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const;

/** A span that is nearly a unit is rounded to it: 23 h 59 min is a day. */
const ENOUGH = 0.99;

/** A time span for people, from milliseconds: `12 ms`, `3.4 s`, `2 min 5 s`, `1 h 3 min`, `4 d 2 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const first = units.findIndex(([size]) => seconds >= size);
  const parts: string[] = [];
  let left = seconds;
  for (const [size, name] of units.slice(first, first + 2)) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.join(' ');
}

/** How long ago, or how long until then, in one unit: `just now`, `3 min ago`, `in 7 d`. */
export function formatAge(at: Date, now: number): string {
  const ms = now - at.getTime();
  const seconds = Math.round(Math.abs(ms) / 1_000);
  if (seconds === 0) return 'just now';
  const [size, name] = units.find(([least]) => seconds >= least * ENOUGH) ?? [1, 's'];
  const text = `${Math.round(seconds / size)} ${name}`;
  return ms > 0 ? `${text} ago` : `in ${text}`;
}
