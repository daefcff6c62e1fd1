import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { pageOf, type TextPart } from './page-of.js';

const whole = (text: string): TextPart => ({ text, from: 0, total: text.length });
/** What is read for a page: a unit more at either end. */
const partFor = (text: string, offset: number, length: number): TextPart => {
  const from = Math.max(0, offset - 1);
  return { text: text.slice(from, from + length + 2), from, total: text.length };
};
const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 50 });

describe('pageOf', () => {
  it('returns its position and the next offset', () => {
    const digits = whole('0123456789');
    expect(pageOf(digits, 2, 3)).toBe('234\n[characters 2 to 5 of 10, continue at offset 5]');
    expect(pageOf(digits, 8, 3)).toBe('89\n[characters 8 to 10 of 10, the end]');
    expect(pageOf(digits, 10, 3)).toBe('[nothing after 10 characters]');
  });

  it('returns the whole text over its pages, and never splits a surrogate pair', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 5 }), (text, length) => {
        let read = '';
        while (read.length < text.length) {
          const page = pageOf(whole(text), read.length, length);
          read += page.slice(0, page.lastIndexOf('\n['));
          expect(page.isWellFormed()).toBe(text.isWellFormed());
        }
        expect(read).toBe(text);
      }),
    );
  });

  it('needs only one more code unit on either side of a page', () => {
    fc.assert(
      fc.property(anyText, fc.nat(60), fc.integer({ min: 1, max: 10 }), (text, offset, length) => {
        expect(pageOf(partFor(text, offset, length), offset, length)).toBe(pageOf(whole(text), offset, length));
      }),
      { numRuns: 500 },
    );
  });
});
