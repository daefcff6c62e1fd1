import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { slotsAfter, slotsWithin } from './slots.js';
import { isTimeZone } from './time-zone.js';

const rhythm = (cron: string, timeZone = 'UTC') => ({ cron, timeZone });
const iso = (instants: readonly number[]) => instants.map((instant) => new Date(instant).toISOString().slice(0, 16));
/** Expression, time zone, an instant, and the slots behind it. */
type Row = readonly [cron: string, timeZone: string, from: string, expected: readonly string[]];
const assertSlots = ([cron, timeZone, from, expected]: Row) => {
  const found = slotsAfter(rhythm(cron, timeZone), Date.parse(`${from}Z`), Math.max(expected.length, 1));
  expect(iso(found)).toEqual(expected);
};

describe('slots', () => {
  it.each<[string, string, string[]]>([
    ['* * * * *', '2026-01-31T23:58', ['2026-01-31T23:59', '2026-02-01T00:00']],
    ['0 0 29 2 *', '2096-03-01T00:00', ['2104-02-29T00:00']],
    ['0 0 1,15 * MON', '2026-02-27T00:00', ['2026-03-01T00:00', '2026-03-02T00:00', '2026-03-09T00:00']],
    ['0 0 */2 * MON', '2026-03-01T00:00', ['2026-03-09T00:00', '2026-03-23T00:00']],
    ['30 9 * * 1-5', '2026-01-02T09:30', ['2026-01-05T09:30']],
    ['0 0 30 2 *', '2026-01-01T00:00', []],
    ['0 0 31 4,6,9,11 *', '2026-01-01T00:00', []],
  ])('match %s after %s', (cron, from, expected) => {
    assertSlots([cron, 'UTC', from, expected]);
  });

  const forward: readonly Row[] = [
    // Berlin, 29 March 2026: 02:00 is 03:00. 01:00Z is when.
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00', ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30']],
    ['0,30 2 * * *', 'Europe/Berlin', '2026-03-28T02:00', ['2026-03-29T01:00', '2026-03-30T00:00', '2026-03-30T00:30']],
    ['*/30 2 * * *', 'Europe/Berlin', '2026-03-28T02:00', ['2026-03-30T00:00', '2026-03-30T00:30']],
    ['0 2,3 * * *', 'Europe/Berlin', '2026-03-29T00:00', ['2026-03-29T01:00', '2026-03-30T00:00']],
    ['15 2,3 * * *', 'Europe/Berlin', '2026-03-29T00:00', ['2026-03-29T01:00', '2026-03-29T01:15', '2026-03-30T00:15']],
    ['0 * * * *', 'Europe/Berlin', '2026-03-28T23:30', ['2026-03-29T00:00', '2026-03-29T01:00', '2026-03-29T02:00']],
    // Cairo, 24 April 2026: midnight is 01:00.
    ['0 0 * * *', 'Africa/Cairo', '2026-04-22T00:00', ['2026-04-22T22:00', '2026-04-23T22:00', '2026-04-24T21:00']],
    // Nuuk, 28 March 2026: 23:00 is midnight, and 23:30 falls on the next day.
    ['30 0,23 * * *', 'America/Nuuk', '2026-03-28T20:00', ['2026-03-29T01:30', '2026-03-30T00:30', '2026-03-30T01:30']],
    // Lord Howe changes by half an hour.
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00', ['2026-10-03T15:30', '2026-10-04T15:15']],
    ['*/20 * * * *', 'Australia/Lord_Howe', '2026-10-03T15:00', ['2026-10-03T15:10', '2026-10-03T15:40']],
  ];
  it.each(forward.map((row) => ({ row })))(
    'run skipped times once right after the gap, and none of a schedule with * or a step: $row',
    ({ row }) => {
      assertSlots(row);
    },
  );

  const back: readonly Row[] = [
    // Berlin, 25 October 2026: 03:00 is 02:00 again. 01:00Z is when.
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T00:31', ['2026-10-25T00:30', '2026-10-26T01:30']],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-25T01:05', ['2026-10-26T01:30']],
    ['0,30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00', ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-26T01:00']],
    ['*/30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00', ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-25T01:00']],
    ['0 * * * *', 'Europe/Berlin', '2026-10-24T23:30', ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00']],
    ['0 3 * * *', 'Europe/Berlin', '2026-10-24T12:00', ['2026-10-25T02:00', '2026-10-26T02:00']],
    ['10 1 * * 0', 'America/New_York', '2026-11-01T05:30', ['2026-11-08T06:10']],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00', ['2026-04-04T14:45', '2026-04-05T15:15']],
  ];
  it.each(back.map((row) => ({ row })))(
    'run repeated times at the first occurrence, and at both with * or a step: $row',
    ({ row }) => {
      assertSlots(row);
    },
  );

  const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo', 'America/Nuuk', 'UTC'];
  const crons = [
    '* * * * *',
    '30 2 * * *',
    '*/7 0-3,23 * * *',
    '0 */2 * * *',
    '15 2,3 * * *',
    '30 0,23 * * *',
    '0 0 L * *',
    '59 23 * * 6',
    '5 1 1,15 * SUN',
    '0 0 29 2 *',
  ];
  const year = { min: Date.parse('2026-01-01T00:00Z'), max: Date.parse('2026-12-31T00:00Z') };

  it('return the same instants from any starting point: one by one, all at once, and backwards', () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.constantFrom(...crons), fc.integer(year), (timeZone, cron, from) => {
        const given = rhythm(cron, timeZone);
        const atOnce = slotsAfter(given, from, 12);
        let last = from;
        const stepwise = atOnce.map(() => (last = slotsAfter(given, last, 1)[0] ?? Number.NaN));
        expect(stepwise).toEqual(atOnce);
        expect(slotsWithin(given, { from: from + 1, to: atOnce.at(-1) ?? from }, 100)).toEqual(atOnce);
        expect(slotsWithin(given, { from: from + 1, to: atOnce.at(-1) ?? from }, 3)).toEqual(atOnce.slice(-3));
      }),
      { numRuns: 200 },
    );
  });

  it('show the requested local time, except in the nights of clock changes', () => {
    const shown = (timeZone: string, instant: number) =>
      new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(instant);
    for (const timeZone of zones) {
      const from = Date.parse('2026-06-01T00:00Z');
      for (const slot of slotsAfter(rhythm('45 13 * * *', timeZone), from, 20))
        expect(shown(timeZone, slot)).toBe('13:45');
    }
  });
});

describe('a time zone', () => {
  it.each(['Europe/Berlin', 'UTC', 'Etc/GMT+5', 'America/Argentina/Buenos_Aires'])('accepts %s', (name) => {
    expect(isTimeZone(name)).toBe(true);
  });
  it.each(['', 'Mars/Phobos', '+02:00', 'Europe/Berlin ', '../etc', 'x'.repeat(100)])('rejects %j', (name) => {
    expect(isTimeZone(name)).toBe(false);
  });
});
