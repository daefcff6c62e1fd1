import { describe, expect, it } from '@jest/globals';

import { assertCron } from './cron.js';
import { slotsAfter } from './slots.js';

const newYear = Date.parse('2026-01-01T00:00Z') - 1;
const slots = (cron: string, count: number) =>
  slotsAfter({ cron, timeZone: 'UTC' }, newYear, count).map((slot) => new Date(slot).toISOString().slice(5, 16));

describe('a cron expression', () => {
  it('consists of five fields of values, ranges, steps and lists', () => {
    const text = ' */20 8-17/3,22  1,15 2 MON-fri ';
    assertCron(text);
    const hours = ['08', '11', '14', '17', '22'];
    const onDay = (day: string) =>
      hours.flatMap((hour) => ['00', '20', '40'].map((minute) => `02-${day}T${hour}:${minute}`));
    expect(slots(text, 30)).toEqual([...onDay('01'), ...onDay('02')]);
  });

  it('accepts Sunday as 0, 7 and SUN, also at the end of a range', () => {
    for (const text of ['0', '7', 'sun']) expect(slots(`0 0 * * ${text}`, 1)).toEqual(['01-04T00:00']);
    expect(slots('0 0 * * 5-7', 3)).toEqual(['01-02T00:00', '01-03T00:00', '01-04T00:00']);
    expect(slots('0 0 1 JAN,dec *', 2)).toEqual(['01-01T00:00', '12-01T00:00']);
  });

  it('accepts the last day, the nearest weekday and the n-th weekday of a month', () => {
    for (const text of ['0 0 L * *', '0 0 3W * *', '0 0 * * MON#1', '0 0 * * FRI#L']) assertCron(text);
    expect(slots('0 0 L * *', 2)).toEqual(['01-31T00:00', '02-28T00:00']);
    expect(slots('0 0 3W * *', 2)).toEqual(['01-02T00:00', '02-03T00:00']);
    expect(slots('0 0 * * MON#1', 2)).toEqual(['01-05T00:00', '02-02T00:00']);
    expect(slots('0 0 * * FRI#L', 2)).toEqual(['01-30T00:00', '02-27T00:00']);
  });

  it.each([
    ['0 0 2 * *', ['01-02', '02-02']],
    ['0 0 * * 1', ['01-05', '01-12']],
    ['0 0 2 * 1', ['01-02', '01-05']],
    ['0 0 */2 * 1', ['01-05', '01-19']],
    ['0 0 5 * */7', ['04-05', '07-05']],
  ])('%s: either day field is enough where none begins with *: %s', (text, days) => {
    expect(slots(text, 2)).toEqual(days.map((day) => `${day}T00:00`));
  });

  it.each([
    ...['', '* * * *', '* * * * * *', '@daily', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * 32 * *', '* * * 13 *'],
    ...['* * * * 8', '*/0 * * * *', '5/15 * * * *', '10-5 * * * *', '1-2-3 * * * *', '1,,2 * * * *', ', * * * *'],
    ...['- * * * *', '1- * * * *', '-1 * * * *', '1.5 * * * *', '1e1 * * * *', 'H * * * *'],
    ...['* * * * 1#6', '*/ * * * *', '/2 * * * *', '**/2 * * * *', '*-2 * * * *', 'MON * * * *', '* * * MON *'],
    ...[`${'1,'.repeat(100)}1 * * * *`],
  ])('rejects %j', (text) => {
    expect(() => {
      assertCron(text);
    }).toThrow(/^cron: /);
  });

  it.each([
    ['60 * * * *', 'cron: "60" is not valid for minute'],
    ['* 24 * * *', 'cron: "24" is not valid for hour'],
    ['* * 32 * *', 'cron: "32" is not valid for day of month'],
    ['* * * JANUARY *', 'cron: "JANUARY" is not valid for month'],
    ['* * * * 8', 'cron: "8" is not valid for day of week'],
  ])('names the invalid field of %s', (text, message) => {
    expect(() => {
      assertCron(text);
    }).toThrow(expect.objectContaining({ message, details: expect.objectContaining({}) }));
  });
});
