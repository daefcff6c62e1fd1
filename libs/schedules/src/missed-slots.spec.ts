import { describe, expect, it } from '@jest/globals';

import { type MissedPolicy, planSlots } from './missed-slots.js';

const hourly = { cron: '0 * * * *', timeZone: 'UTC' };
const at = (time: string) => Date.parse(`2026-03-02T${time}Z`);
const plan = (missed: MissedPolicy, now: number, from = at('09:00')) => {
  const { start, skip, next } = planSlots(hourly, { from, now, missed });
  const hours = (instants: readonly number[]) => instants.map((instant) => new Date(instant).getUTCHours());
  return { start: hours(start), skip: hours(skip), next: hours(next === null ? [] : [next]) };
};

describe('missed slots', () => {
  it.each<[MissedPolicy]>([['skip'], ['once'], ['all']])('%s: a slot on time starts a job', (missed) => {
    expect(plan(missed, at('09:00:59'))).toEqual({ start: [9], skip: [], next: [10] });
  });

  it.each<[MissedPolicy, object]>([
    ['skip', { start: [], skip: [9, 10, 11], next: [12] }],
    ['once', { start: [11], skip: [9, 10], next: [12] }],
    ['all', { start: [9, 10, 11], skip: [], next: [12] }],
  ])('%s: selects the missed slots that start a job', (missed, expected) => {
    expect(plan(missed, at('11:30'))).toEqual(expected);
  });

  it.each<[MissedPolicy, object]>([
    ['skip', { start: [11], skip: [9, 10], next: [12] }],
    ['once', { start: [11], skip: [9, 10], next: [12] }],
    ['all', { start: [9, 10, 11], skip: [], next: [12] }],
  ])('%s: selects missed slots before one that is on time', (missed, expected) => {
    expect(plan(missed, at('11:00:30'))).toEqual(expected);
  });

  it('include at most the last 24', () => {
    const from = at('09:00') - 1_000 * 24 * 3_600_000;
    expect(plan('all', at('08:30'), from).start).toEqual([...Array.from({ length: 24 }, (_, i) => (i + 9) % 24)]);
    expect(plan('once', at('08:30'), from)).toMatchObject({ start: [8], skip: { length: 23 } });
  });

  it('do not exist before the first slot', () => {
    expect(plan('all', at('08:59'))).toEqual({ start: [], skip: [], next: [9] });
  });
});
