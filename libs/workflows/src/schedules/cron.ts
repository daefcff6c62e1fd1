import { badCron } from './schedules.errors.js';

/** When something is due, by the calendar and the clock on the wall. */
export interface Cron {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** Both kinds of days were named: either makes a day one of them (crontab(5)). */
  readonly anyDay: boolean;
}

interface Field {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Names of the values, from `from` on. */
  readonly names: readonly string[];
}

const longest = 200;

const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const dayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const fields = [
  { name: 'minute', from: 0, to: 59, names: [] },
  { name: 'hour', from: 0, to: 23, names: [] },
  { name: 'day of month', from: 1, to: 31, names: [] },
  { name: 'month', from: 1, to: 12, names: monthNames },
  { name: 'day of week', from: 0, to: 7, names: dayNames },
] as const satisfies readonly Field[];

/**
 * Reads the five fields of crontab(5): minute, hour, day of month, month, day of week; each `*`, a value, a range `a-b`, either
 * of these with a step (`*` + `/n`, `a-b/n`), or a list of them. Months and weekdays have names; Sunday is 0 and 7. Throws
 * `bad_request`. Pure.
 */
export function parseCron(text: string): Cron {
  if (text.length > longest) throw badCron(`must have at most ${longest} characters`);
  const texts = text.trim().split(/\s+/);
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = texts;
  if (texts.length !== fields.length || minute === '')
    throw badCron('must have five fields: minute, hour, day of month, month, day of week');
  const [minutes, hours, days, months, weekdays] = fields;
  return {
    minutes: parseField(minute, minutes),
    hours: parseField(hour, hours),
    days: parseField(day, days),
    months: parseField(month, months),
    weekdays: new Set([...parseField(weekday, weekdays)].map((value) => value % 7)),
    anyDay: !day.startsWith('*') && !weekday.startsWith('*'),
  };
}

function parseField(text: string, field: Field): ReadonlySet<number> {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    const [, range = '', step] = /^([^/]+)(?:\/(\d{1,2}))?$/.exec(item) ?? [];
    const { from, to } = toRange(range, field);
    const by = step === undefined ? 1 : Number(step);
    const isValid = from <= to && by > 0 && (step === undefined || range === '*' || range.includes('-'));
    if (!isValid) throw badCron(`"${item.slice(0, 20)}" is no ${field.name}`);
    for (let value = from; value <= to; value += by) values.add(value);
  }
  return values;
}

function toRange(text: string, field: Field): { readonly from: number; readonly to: number } {
  if (text === '*') return { from: field.from, to: field.to };
  const ends = text.split('-').map((end) => toValue(end, field));
  const [from = Number.NaN, to = from] = ends;
  return ends.length > 2 ? { from, to: Number.NaN } : { from, to };
}

/** Not a number at all: `NaN`, which is in no range. */
function toValue(text: string, { from, to, names }: Field): number {
  const named = names.indexOf(text.toUpperCase());
  if (named >= 0) return from + named;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= from && value <= to ? value : Number.NaN;
}
