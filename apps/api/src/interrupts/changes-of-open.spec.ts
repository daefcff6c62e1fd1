import { describe, expect, it } from '@jest/globals';

import { changesOfOpen, isKnown, toOpenRows } from './changes-of-open.js';

const between = (before: readonly string[], now: readonly string[]) =>
  changesOfOpen(toOpenRows(before, 2), toOpenRows(now, 2));

describe('what has changed between two looks at what is open', () => {
  it('is what was opened, and what was settled', () => {
    expect(between([], ['1'])).toEqual(['1']);
    expect(between(['1'], [])).toEqual(['1']);
    expect(between(['1'], ['2'])).toEqual(['2', '1']);
    expect(between(['1'], ['1'])).toEqual([]);
  });

  it('is nothing that more than a look can hold has hidden or shown', () => {
    expect(between(['3', '2'], ['4', '3'])).toEqual(['4']);
    expect(between(['4', '3'], ['4', '2'])).toEqual(['3']);
    expect(between(['4', '2'], ['1'])).toEqual(['4', '2']);
    expect(between(['1'], ['5', '1'])).toEqual(['5']);
  });
});

describe('an open row', () => {
  it('is known to a look that saw it, or was full of newer ones', () => {
    const known = (seen: readonly string[], id: string) => isKnown(toOpenRows(seen, 2), id);
    expect([known(['3', '2'], '2'), known(['3', '2'], '1'), known(['3'], '3')]).toEqual([true, true, true]);
    expect([known(['3', '1'], '2'), known(['3', '2'], '4'), known(['3'], '1'), known([], '1')]).toEqual(
      Array(4).fill(false),
    );
  });
});
