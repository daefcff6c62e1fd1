import { describe, expect, it } from '@jest/globals';

import { changesOfOpen, isKnown, toOpenRows } from './interrupt-activity.js';

const between = (before: readonly string[], now: readonly string[]) =>
  changesOfOpen(toOpenRows(before, 2), toOpenRows(now, 2));

describe('changes between two snapshots of open rows', () => {
  it('contain the opened and the settled rows', () => {
    expect(between([], ['1'])).toEqual(['1']);
    expect(between(['1'], [])).toEqual(['1']);
    expect(between(['1'], ['2'])).toEqual(['2', '1']);
    expect(between(['1'], ['1'])).toEqual([]);
  });

  it('omit rows that entered or left a snapshot only because of its size limit', () => {
    expect(between(['3', '2'], ['4', '3'])).toEqual(['4']);
    expect(between(['4', '3'], ['4', '2'])).toEqual(['3']);
    expect(between(['4', '2'], ['1'])).toEqual(['4', '2']);
    expect(between(['1'], ['5', '1'])).toEqual(['5']);
  });
});

describe('isKnown', () => {
  it('returns true for a row of the snapshot, and for an older row beyond its size limit', () => {
    const known = (seen: readonly string[], id: string) => isKnown(toOpenRows(seen, 2), id);
    expect([known(['3', '2'], '2'), known(['3', '2'], '1'), known(['3'], '3')]).toEqual([true, true, true]);
    expect([known(['3', '1'], '2'), known(['3', '2'], '4'), known(['3'], '1'), known([], '1')]).toEqual(
      Array(4).fill(false),
    );
  });
});
