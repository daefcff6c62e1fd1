import { describe, expect, it } from '@jest/globals';

import { cutToWidth, textWidth } from '../terminal/text-width.js';
import { formatAge, formatDuration } from './duration.js';
import { showArguments } from './show-arguments.js';
import { formatTable } from './table.js';

describe('the format of durations', () => {
  it.each([
    [0, '0 ms'],
    [12.4, '12 ms'],
    [3_449, '3.4 s'],
    [59_949, '59.9 s'],
    [59_960, '1 min'],
    [125_000, '2 min 5 s'],
    [3_600_000, '1 h'],
    [3_780_000, '1 h 3 min'],
    [180_000_000, '2 d 2 h'],
  ])('turns %s ms into %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it.each([
    [100, 'just now'],
    [-7 * 86_400_000 + 2_000, 'in 7 d'],
    [185_000, '3 min ago'],
    [-5_000, 'in 5 s'],
  ])('turns an instant %s ms ago into %s', (ms, text) => {
    expect(formatAge(new Date(1_000_000_000_000 - ms), 1_000_000_000_000)).toBe(text);
  });
});

describe('the width of text', () => {
  it('counts columns, not code units', () => {
    expect(textWidth('日本')).toBe(4);
    expect(textWidth('👩‍👩‍👧')).toBe(2);
    expect(cutToWidth('日本語です', 7)).toBe('日本語…');
    expect(cutToWidth('short', 5)).toBe('short');
  });

  it('aligns the columns of a table, and truncates only the last one', () => {
    const row = (...cells: string[]) => cells.map((text) => ({ text }));
    expect(formatTable(row('A', 'LONGER'), [row('日本', 'x'), row('a', 'y'.repeat(40))], 20)).toEqual([
      'A     LONGER',
      '日本  x',
      `a     ${'y'.repeat(13)}…`,
    ]);
  });
});

describe('showArguments', () => {
  it('prints values on one line, without characters that could move the cursor', () => {
    expect(showArguments('{"expression":"17 * 23","deep":{"a":[1]}}')).toBe('expression: "17 * 23", deep: {"a":[1]}');
    expect(showArguments('not\u001b[2J JSON\nat all')).toBe('not[2J JSON at all');
    expect(showArguments('"text"')).toBe('"text"');
  });
});
