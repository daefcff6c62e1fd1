import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { TextSearch } from './bounded-cel.js';

const text = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength });
const search = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 6 });

describe('TextSearch', () => {
  it('returns the same positions as indexOf and lastIndexOf', () => {
    fc.assert(
      fc.property(text(40), search, fc.nat(45), (within, wanted, place) => {
        const found = new TextSearch(wanted);
        expect(found.first(within)).toBe(within.indexOf(wanted));
        expect(found.first(within, place)).toBe(within.indexOf(wanted, place));
        expect(found.last(within)).toBe(within.lastIndexOf(wanted));
        expect(found.last(within, place)).toBe(within.lastIndexOf(wanted, place));
      }),
    );
  });
});
