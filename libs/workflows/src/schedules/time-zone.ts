const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Formatters are dear to make; there are a few hundred zones. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** Whether this process knows the zone by a name of the time zone database. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** How far the zone's clocks are ahead of UTC at an instant, in ms. */
export function offsetAt(zone: string, instant: number): number {
  const parts = formatOf(zone).formatToParts(instant);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours = '0', minutes = '0'] = /^GMT(?:([+-])(\d\d):(\d\d))?/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * minuteMs;
}

/**
 * The instants at which clocks of the zone show `local` (a wall time, written as if it were UTC, ms). Where clocks were put
 * back they show it twice, in order. Where they were put forward they never do: then it is the instant as far behind the
 * change as the time was asked to be, so 02:30 of a night without it is 03:30.
 */
export function instantsOf(zone: string, local: number): readonly number[] {
  // No zone changes twice in two days.
  const before = local - offsetAt(zone, local - dayMs);
  const after = local - offsetAt(zone, local + dayMs);
  const shown = [...new Set([before, after])].filter((instant) => instant + offsetAt(zone, instant) === local);
  return shown.length === 0 ? [before] : shown.toSorted((a, b) => a - b);
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  // Names are matched case-insensitively, so there are more spellings than zones.
  if (formats.size >= 1_000) formats.clear();
  formats.set(zone, format);
  return format;
}
