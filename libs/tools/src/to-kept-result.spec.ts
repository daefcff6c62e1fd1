import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { projectResult, RESULT_BYTES } from './project-result.js';
import { MAX_KEPT_BYTES, toKeptResult } from './to-kept-result.js';

const NOTE = /\n\[read on with read_tool_output (\{.*\})\]\n\[truncated, (\d+) bytes in total\]$/;

describe('toKeptResult', () => {
  it('keeps a result within the limit unchanged', () => {
    const text = 'ä'.repeat(RESULT_BYTES.durable / 2);
    expect(toKeptResult(text, 'c')).toEqual({ durable: text, whole: null, bytes: RESULT_BYTES.durable });
    expect(toKeptResult('a\0', 'c').durable).toBe('a\uFFFD');
  });

  it('stores a larger result whole, and returns its beginning with the offset of the rest', () => {
    const text = '0123456789'.repeat(30_000);
    const { durable, whole, bytes } = toKeptResult(text, 'call "1"');
    expect([whole, bytes]).toEqual([text, 300_000]);
    const [, args = '', total] = NOTE.exec(durable) ?? [];
    const { call_id: callId, offset } = JSON.parse(args) as { call_id: string; offset: number };
    expect([callId, total]).toEqual(['call "1"', '300000']);
    expect(durable.slice(0, offset)).toBe(text.slice(0, offset));
  });

  it('returns a preview that fits the model, and the original size for viewers', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('a', 'ä', '€', '😀'),
        fc.nat(3),
        fc.string({ maxLength: 256 }),
        (unit, head, callId) => {
          const text = 'x'.repeat(head) + unit.repeat(270_000);
          const { durable, bytes } = toKeptResult(text, callId);
          expect(Buffer.byteLength(durable)).toBeLessThanOrEqual(RESULT_BYTES.model);
          expect(projectResult(durable, 'durable')).toBe(durable);
          expect(projectResult(durable, 'model')).toBe(durable);
          expect(projectResult(durable, 'ui')).toMatch(new RegExp(`\\n\\[truncated, ${bytes} bytes in total\\]$`));
          expect(durable.isWellFormed()).toBe(true);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('truncates to the limit, and reports the original size', () => {
    const { whole, bytes, durable } = toKeptResult('€'.repeat(3_000_000), 'c');
    expect(Buffer.byteLength(whole ?? '')).toBeLessThanOrEqual(MAX_KEPT_BYTES);
    expect([bytes, durable.endsWith('[truncated, 9000000 bytes in total]')]).toEqual([9_000_000, true]);
  });
});
