import { describe, expect, it } from '@jest/globals';
import { parseValue } from 'graphql';

import { DateTime } from './date-time.scalar.js';
import { Json } from './json.scalar.js';

describe('DateTime', () => {
  it('converts between milliseconds and RFC 3339', () => {
    expect(DateTime.serialize(0)).toBe('1970-01-01T00:00:00.000Z');
    expect(DateTime.parseValue('1970-01-01T01:00:00.5+01:00')).toBe(500);
    expect(DateTime.parseLiteral(parseValue('"2026-11-20T08:15:00Z"'))).toBe(Date.UTC(2026, 10, 20, 8, 15));
  });

  it('refuses texts that are not instants', () => {
    for (const value of [
      '2026-11-20',
      '2026-11-20T08:15:00',
      '2026-02-30T00:00:00Z',
      '2026-13-01T00:00:00Z',
      'now',
      5,
      null,
      {},
    ]) {
      expect(() => DateTime.parseValue(value)).toThrow('RFC 3339');
    }
    expect(() => DateTime.parseLiteral(parseValue('5'))).toThrow('RFC 3339');
  });
});

describe('JSON', () => {
  it('reads literals unchanged', () => {
    const text = '{a: [1, 2.5, "x", true, null, {b: $v}]}';
    expect(Json.parseLiteral(parseValue(text), { v: { c: 1 } })).toEqual({
      a: [1, 2.5, 'x', true, null, { b: { c: 1 } }],
    });
    expect(() => Json.parseLiteral(parseValue('[ENUM]'))).toThrow('not a JSON value');
  });

  it('ignores the member `__proto__` of an input', () => {
    const value = Json.parseLiteral(parseValue('{__proto__: {polluted: true}, a: 1}')) as object;
    expect(value).toEqual({ a: 1 });
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });
});
