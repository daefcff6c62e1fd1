import type { Cron } from './cron.js';
import { instantsOf, offsetAt } from './time-zone.js';

/** A cron expression somewhere in the world. */
export interface Rhythm {
  readonly cron: Cron;
  readonly timeZone: string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Every possible slot comes within eight years: the longest gap is that of the 29th of February around the year 2100. */
const farthestDays = 8 * 366 + 2;

/**
 * The first `count` slots after an instant, in order; fewer when no more come. In a night in which clocks are set back, a time
 * is a slot at its first occurrence; an hourly rhythm continues hour by hour. In one in which clocks are set forward, a skipped
 * time is made up for right after the gap (`instantsOf`). Pure.
 */
export function slotsAfter(rhythm: Rhythm, after: number, count: number): readonly number[] {
  const found: number[] = [];
  let day = dayOf(rhythm, after);
  for (let i = 0; i <= farthestDays && found.length < count; i++, day += dayMs)
    found.push(...slotsOn(rhythm, day).filter((slot) => slot > after));
  return found.slice(0, count);
}

/** The last `count` slots from `from` to `to`, both included, in order. Pure. */
export function slotsWithin(
  rhythm: Rhythm,
  { from, to }: { readonly from: number; readonly to: number },
  count: number,
): readonly number[] {
  let found: readonly number[] = [];
  const first = dayOf(rhythm, from);
  for (let day = dayOf(rhythm, to); day >= first && found.length < count; day -= dayMs)
    found = [...slotsOn(rhythm, day).filter((slot) => slot >= from && slot <= to), ...found];
  return found.slice(-count);
}

/** The calendar day of an instant, as its midnight if that were UTC, in ms. */
function dayOf({ timeZone }: Rhythm, instant: number): number {
  const local = instant + offsetAt(timeZone, instant);
  return local - (((local % dayMs) + dayMs) % dayMs);
}

function slotsOn(rhythm: Rhythm, day: number): readonly number[] {
  const { cron, timeZone } = rhythm;
  const [before, on] = [timesOn(cron, day - dayMs), timesOn(cron, day)];
  if (before.length + on.length === 0) return [];
  const offset = offsetAt(timeZone, day - dayMs);
  if (offset === offsetAt(timeZone, day + 2 * dayMs)) return on.map((time) => time - offset);
  const isHourly = cron.hours.size === 24;
  // A time that is left out just before midnight is made up for on the day behind it.
  const instants = [...before, ...on].flatMap((time) => {
    const shown = instantsOf(timeZone, time);
    return isHourly ? shown : shown.slice(0, 1);
  });
  return [...new Set(instants)].filter((instant) => dayOf(rhythm, instant) === day).toSorted((a, b) => a - b);
}

/** What clocks show when it is due, as if that were UTC, in order. */
function timesOn(cron: Cron, day: number): readonly number[] {
  if (!isDue(cron, new Date(day))) return [];
  const minutes = [...cron.minutes].toSorted((a, b) => a - b);
  const hours = [...cron.hours].toSorted((a, b) => a - b);
  return hours.flatMap((hour) => minutes.map((minute) => day + hour * hourMs + minute * minuteMs));
}

function isDue({ months, days, weekdays, anyDay }: Cron, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const [byDay, byWeekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
  return anyDay ? byDay || byWeekday : byDay && byWeekday;
}
