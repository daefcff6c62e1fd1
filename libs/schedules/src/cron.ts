import { Cron } from 'croner';

import { badCron } from './schedules.errors.js';

const maxLength = 200;

const fieldNames = ['minute', 'hour', 'day of month', 'month', 'day of week'];

/**
 * Accepts the five fields of crontab(5): minute, hour, day of month, month, day of week, with croner's `L`, `W` and `#`. Throws
 * `bad_request` that names the invalid field. Pure.
 */
export function assertCron(text: string): void {
  if (text.length > maxLength) throw badCron(`must have at most ${maxLength} characters`);
  const fields = text.trim().split(/\s+/);
  if (fields.length !== fieldNames.length)
    throw badCron('must have five fields: minute, hour, day of month, month, day of week');
  // The messages of croner do not always name the field.
  for (const [i, field] of fields.entries())
    if (!isCron(fieldNames.map((_, j) => (j === i ? field : '*')).join(' ')))
      throw badCron(`"${field.slice(0, 20)}" is not valid for ${fieldNames[i] ?? ''}`);
}

/** Whether croner can parse an expression. An earlier version stored some that croner rejects, such as a step longer than its field. */
export function isCron(text: string): boolean {
  try {
    new Cron(text, { mode: '5-part' });
    return true;
  } catch {
    return false;
  }
}
