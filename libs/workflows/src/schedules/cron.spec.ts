import { describe, expect, it } from '@jest/globals';

import { parseCron } from './cron.js';

const sorted = (values: ReadonlySet<number>) => [...values].toSorted((a, b) => a - b);

describe('a cron expression', () => {
  it('consists of five fields of values, ranges, steps and lists', () => {
    const cron = parseCron(' */20 8-17/3,22  1,15 * MON-fri ');
    expect(sorted(cron.minutes)).toEqual([0, 20, 40]);
    expect(sorted(cron.hours)).toEqual([8, 11, 14, 17, 22]);
    expect(sorted(cron.days)).toEqual([1, 15]);
    expect(sorted(cron.months)).toHaveLength(12);
    expect(sorted(cron.weekdays)).toEqual([1, 2, 3, 4, 5]);
  });

  it('knows Sunday as 0, 7 and SUN, also at the end of a week', () => {
    for (const text of ['0', '7', 'sun']) expect(sorted(parseCron(`0 0 * * ${text}`).weekdays)).toEqual([0]);
    expect(sorted(parseCron('0 0 * * 5-7').weekdays)).toEqual([0, 5, 6]);
    expect(sorted(parseCron('0 0 * JAN,dec *').months)).toEqual([1, 12]);
  });

  it.each([
    ['0 0 1 * *', false],
    ['0 0 * * 1', false],
    ['0 0 1 * 1', true],
    ['0 0 */2 * 1', false],
  ])('%s: naming both kinds of days makes either enough: %s', (text, anyDay) => {
    expect(parseCron(text).anyDay).toBe(anyDay);
  });

  it.each([
    ...['', '* * * *', '* * * * * *', '@daily', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * 32 * *', '* * * 13 *'],
    ...['* * * * 8', '*/0 * * * *', '5/15 * * * *', '10-5 * * * *', '1-2-3 * * * *', '1,,2 * * * *', ', * * * *'],
    ...['- * * * *', '1- * * * *', '-1 * * * *', '1.5 * * * *', '1e1 * * * *', 'H * * * *', '* * L * *', '* * ? * *'],
    ...['* * * * 1#2', '*/ * * * *', '/2 * * * *', '**/2 * * * *', '*-2 * * * *', 'MON * * * *', '* * * MON *'],
    ...[`${'1,'.repeat(100)}1 * * * *`],
  ])('rejects %j', (text) => {
    expect(() => parseCron(text)).toThrow(/^cron: /);
  });
});
