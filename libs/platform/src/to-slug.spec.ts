import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { toSlug } from './to-slug.js';

describe('toSlug', () => {
  it.each([
    ['Weekly report', 'weekly-report'],
    [' GPT-4.1 (mini)! ', 'gpt-4-1-mini'],
    ['Übersicht für Anaïs', 'ubersicht-fur-anais'],
    ['snake_case', 'snake_case'],
    ['日本語', ''],
    ['a'.repeat(60), 'a'.repeat(48)],
    [`${'a'.repeat(47)} b`, 'a'.repeat(47)],
  ])('turns %j into %j', (name, slug) => {
    expect(toSlug(name)).toBe(slug);
  });

  it('produces only allowed characters, and leaves a slug unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (name) => {
        const slug = toSlug(name);
        expect(slug).toMatch(/^(?:[a-z0-9](?:[a-z0-9_-]{0,46}[a-z0-9])?)?$/);
        expect(toSlug(slug)).toBe(slug);
      }),
    );
  });
});
