import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { cutToBytes, projectResult, RESULT_BYTES, type ResultAudience } from './project-result.js';

const audiences: readonly ResultAudience[] = ['durable', 'model', 'ui'];

describe('projectResult', () => {
  it('returns a result within the limit unchanged', () => {
    const text = 'é'.repeat(RESULT_BYTES.ui / 2);
    expect(projectResult(text, 'ui')).toBe(text);
  });

  it('truncates within the limit, at a character, and reports the original size', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...audiences),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
        fc.integer({ min: 0, max: 3 }),
        (audience, unit, pad) => {
          const text =
            'x'.repeat(pad) + unit.repeat(Math.ceil((RESULT_BYTES[audience] + 100) / Buffer.byteLength(unit)));
          const clean = text.replaceAll('\u0000', '\uFFFD');
          const cut = projectResult(text, audience);
          const note = `\n[truncated, ${Buffer.byteLength(clean)} bytes in total]`;
          expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(RESULT_BYTES[audience]);
          expect(Buffer.byteLength(cut)).toBeGreaterThan(RESULT_BYTES[audience] - 4);
          expect(cut.endsWith(note)).toBe(true);
          expect(clean.startsWith(cut.slice(0, -note.length))).toBe(true);
          expect(cut.isWellFormed()).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('reports the original size also for a result that was truncated before', () => {
    const durable = projectResult('ü'.repeat(1_000_000), 'durable');
    expect(durable.endsWith('\n[truncated, 2000000 bytes in total]')).toBe(true);
    expect(projectResult(durable, 'durable')).toBe(durable);
    expect(projectResult(durable, 'ui').endsWith('ü\n[truncated, 2000000 bytes in total]')).toBe(true);
  });

  it('replaces characters that cannot be stored', () => {
    expect(projectResult('a\u0000b\uD83Dc', 'ui')).toBe('a\uFFFDb\uFFFDc');
  });
});

describe('cutToBytes', () => {
  it('never truncates inside a surrogate pair', () => {
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((limit) => cutToBytes('aé😀', limit))).toEqual([
      '',
      'a',
      'a',
      'aé',
      'aé',
      'aé',
      'aé',
      'aé😀',
    ]);
  });
});
