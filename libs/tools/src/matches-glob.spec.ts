import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { matchesGlob } from './matches-glob.js';

/** Slow and obviously right: tries everything. */
function reference(pattern: string, text: string): boolean {
  const [first = '', ...rest] = Array.from(pattern);
  const after = rest.join('');
  if (first === '') return text === '';
  const [char = '', ...more] = Array.from(text);
  if (first === '*') return reference(after, text) || (char !== '' && reference(pattern, more.join('')));
  return char !== '' && (first === '?' || first === char) && reference(after, more.join(''));
}

describe('a glob', () => {
  it.each([
    ['*', '', true],
    ['*', 'mail.send', true],
    ['mail.*', 'mail.send', true],
    ['mail.*', 'mail.', true],
    ['mail.*', 'mail', false],
    ['mail.*', 'gmail.send', false],
    ['*.delete_*', 'files.delete_all', true],
    ['delete', 'delete_all', false],
    ['file?.read', 'files.read', true],
    ['file?.read', 'file.read', false],
    ['Mail.*', 'mail.send', false],
    ['?', '😀', true],
    ['mail.send', 'mailXsend', false],
    ['[ab].+(c)$', 'a.c', false],
    ['[ab].+(c)$', '[ab].+(c)$', true],
    ['', '', true],
    ['', 'x', false],
  ])('%s on %s: %s', (pattern, text, expected) => {
    expect(matchesGlob(pattern, text)).toBe(expected);
  });

  it('returns the same as a matcher by brute force', () => {
    const chars = fc.constantFrom('a', 'b', '.', '😀');
    const pattern = fc.string({ unit: fc.oneof(chars, fc.constantFrom('*', '?')), maxLength: 8 });
    const text = fc.string({ unit: chars, maxLength: 10 });
    fc.assert(
      fc.property(pattern, text, (p, t) => {
        expect(matchesGlob(p, t)).toBe(reference(p, t));
      }),
      { numRuns: 2_000 },
    );
  });

  it('matches in time where a backtracking engine would not', () => {
    expect(matchesGlob(`${'*a'.repeat(100)}b`, 'a'.repeat(2_000))).toBe(false);
  });
});
