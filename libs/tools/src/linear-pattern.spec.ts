import { describe, expect, it } from '@jest/globals';
import { RE2JS } from 're2js';

import { linearPattern, MAX_PATTERN_SIZE, patternSize } from './linear-pattern.js';

describe('the size of a pattern', () => {
  it.each([
    '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
    String.raw`^[\w.+-]{1,64}@(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,63}$`,
    String.raw`^[A-Za-z0-9 _'"()\[\]{},.:;!?/\\-]{1,1000}$`,
    String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$`,
    String.raw`^(?:\p{L}|\p{N}){3,200}$`,
    String.raw`(?i)^[\p{L}\p{N} _-]{1,200}@\S+$`,
    String.raw`(?i)^[a-z\u00c0-\uffff0-9]{1,64}$`,
    `^(?:${Array.from({ length: 300 }, (_, n) => `country${n}`).join('|')})$`,
  ])('accepts a pattern that people write: %s', (pattern) => {
    expect(patternSize(pattern)).toBeLessThan(MAX_PATTERN_SIZE);
    expect(linearPattern(pattern, 'javascript').test('')).toBe(false);
  });

  it.each([
    ['repetitions in a row', 'a{1000}'.repeat(6)],
    ['a long repetition', `(?:${'x'.repeat(100)}){100}`],
    ['repetitions in each other', '(?:(?:(?:a{1,10}){1,10}b){1,10}c){10}'.repeat(2)],
    ['one that is optional', '(?:[a-z]x?){0,1000}(?:[a-z]x?){0,1000}'],
    ['text', 'x'.repeat(5_001)],
    ['a class', `[${'a-z'.repeat(2_000)}]`],
    ['large case-insensitive classes', `(?i)${String.raw`\PL`.repeat(60)}`],
    ['wide case-insensitive ranges', '(?i)[B-\u{1e942}C-\u{1e942}]'],
    ['wide case-insensitive ranges of escapes', String.raw`(?i)[\x42-\x{0000000001e942}][\x43-\x{1e942}]`],
  ])('rejects %s as too large', (_, pattern) => {
    expect(patternSize(pattern)).toBeGreaterThan(MAX_PATTERN_SIZE);
    expect(() => linearPattern(pattern, 're2')).toThrow('a pattern is too large');
  });

  it('never estimates fewer instructions than the engine compiles', () => {
    const patterns = [
      'a{7}',
      'a{2,9}',
      '(?:ab|c){3,20}',
      '(a(b{5}c){6}d){7}',
      '[a-z]{9}x*',
      String.raw`\Q(a\E{3}`,
      '(?:a?){20}',
    ];
    for (const pattern of patterns)
      expect([pattern, patternSize(pattern) >= programSize(pattern)]).toEqual([pattern, true]);
  });

  it('counts an escaped or bracketed parenthesis as a character', () => {
    for (const pattern of [String.raw`\(a{900}`, '[(]a{900}', '[)]a{900}', String.raw`\Q((\Ea{900}`, '[]({]a{900}'])
      expect(patternSize(pattern)).toBeLessThan(1_000);
  });

  it.each(['((((', '))))', '{3}', '[', '[^', String.raw`\Q`, '\\', '{99999999999}', 'a{,3}', 'a{3', ''])(
    'measures invalid patterns as well: %j',
    (pattern) => {
      expect(patternSize(pattern)).toBeGreaterThan(0);
    },
  );
});

/** Instructions, but for the few that begin and end each program. */
function programSize(pattern: string): number {
  return RE2JS.compile(pattern).programSize() - 3;
}
