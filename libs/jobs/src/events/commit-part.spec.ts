import { expect, it } from '@jest/globals';
import fc from 'fast-check';

import { type CommitPart, quotedJson, statementName, toArrayText } from './commit-part.js';

const part = (name: string): CommitPart<readonly []> => ({ name, columns: [], sql: (rows) => `SELECT 1 FROM ${rows}` });
// With the hash of the hooks, as EventActions names it.
const what = 'commit-actions-0123456789abcdef';

it('statementName keeps the names of statements with many parts apart within 63 characters', () => {
  const parts = ['new_calls', 'opened_interrupts', 'rounds', 'settled_calls'].map(part);
  const names = [
    [...parts, part('job_ends')],
    [...parts, part('tool_outputs')],
  ].map((all) => statementName(what, all));
  expect(new Set(names).size).toBe(2);
  expect(names.filter((name) => name.length > 63)).toEqual([]);
});

/** Elements that Postgres reads as these texts: a backslash before each quote and backslash, and no other escape. */
const arrayOf = (texts: readonly string[]) =>
  `{${texts.map((text) => `"${text.split('\\').join('\\\\').split('"').join('\\"')}"`).join(',')}}`;

const piece = fc.oneof(
  fc.constantFrom('"', '\\', '\\"', '\n', '\t', '\u0001', '\u007f', '\u2028', 'ä', '漢字', '😀', 'abc ', '{}', ','),
  fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
);
const shortText = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
const text = fc.oneof(
  shortText,
  fc.tuple(shortText, fc.integer({ min: 1, max: 2_000 }), shortText).map(([a, times, b]) => a.repeat(times) + b),
);

it('toArrayText escapes quotes and backslashes, and no other character, in short and long texts', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 4 }), (texts) => {
      expect(toArrayText(texts) === arrayOf(texts)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

it('toArrayText escapes JSON as it escapes other texts, also if a text in it has a lone surrogate', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(text, fc.string({ unit: 'binary' }), fc.constant('a\ud800b')), { maxLength: 4 }),
      (values) => {
        const json = values.map((value) => JSON.stringify({ [value]: [value] }));
        expect(toArrayText(json, quotedJson) === arrayOf(json)).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});
