import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { toStorable, toStorableText } from './to-storable.js';

const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

describe('toStorable', () => {
  it('replaces NUL and lone surrogates in texts and keys', () => {
    expect(toStorableText('a\0b\ud83dc\ude00')).toBe('a\uFFFDb\uFFFDc\uFFFD');
    expect(toStorable({ 'k\0': ['\ud83d', '😀'] })).toEqual({ 'k\uFFFD': ['\uFFFD', '😀'] });
  });

  it('refuses numbers that JSON cannot represent', () => {
    for (const value of [JSON.parse('{"a":1e400}'), -Infinity, NaN, 1n] as unknown[]) {
      expect(() => toStorable(value, 'input')).toThrow(
        expect.objectContaining({ code: 'not_storable', field: 'input' }),
      );
    }
  });

  it('refuses nesting that is too deep, and cycles', () => {
    const circle: unknown[] = [];
    circle.push(circle);
    for (const value of [nested(5_000), nested(257), circle]) {
      expect(() => toStorable(value)).toThrow(expect.objectContaining({ code: 'not_storable' }));
    }
    expect(() => toStorable(nested(256))).not.toThrow();
  });

  it('drops the member `__proto__`', () => {
    const stored = toStorable(JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'));
    expect(JSON.stringify(stored)).toBe('{"constructor":1}');
    expect(Object.getPrototypeOf(stored)).toBe(Object.prototype);
  });

  it('equals the JSON of any other value, and is idempotent', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const clean: unknown = JSON.parse(toStorableText(JSON.stringify(value)));
        fc.pre(!JSON.stringify(value).includes('__proto__') && !JSON.stringify(value).includes('\\u'));
        expect(toStorable(value)).toEqual(clean);
        expect(toStorable(toStorable(value))).toEqual(toStorable(value));
      }),
    );
    expect(toStorable({ at: new Date(0), gone: undefined, list: [undefined] })).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      list: [null],
    });
    expect(toStorable(undefined)).toBeNull();
    expect(toStorable([-0])).toEqual([0]);
  });
});
