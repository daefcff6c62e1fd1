import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { inexactJson, mayBeRounded } from './inexact-json.js';

describe('inexactJson', () => {
  it('accepts everything that JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('__proto__'));
        expect(inexactJson(text)).toBeUndefined();
      }),
    );
  });

  it('accepts every double in any decimal notation', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        fc.pre(!Object.is(value, -0));
        for (const text of [String(value), value.toExponential(), JSON.stringify(value)])
          expect(inexactJson(`{"a":${text.replace('Infinity', '1')}}`)).toBeUndefined();
      }),
    );
  });

  it.each(['9007199254740992', '1e3', '1E+3', '1.50', '0.1', '100000000000000000000', '0.000', '5e-324', '1e23'])(
    'accepts the number %s',
    (number) => {
      expect(inexactJson(`{"a":[${number}]}`)).toBeUndefined();
    },
  );

  it.each([
    '9007199254740993',
    '-9007199254740993',
    '12345678901234567890',
    '1e400',
    '-1e400',
    '1e-400',
    '-0',
    '-0.0',
    '1.0000000000000000001',
    '9007199254740993.0',
    '9.007199254740993e15',
    '3.14159265358979323846',
  ])('names the number %s', (number) => {
    expect(inexactJson(`{"text":"1e400","a":{"b":[1,${number}]}}`)).toBe(
      `arguments hold the number ${number}, which cannot be passed on exactly; write it as text`,
    );
  });

  it.each(['{"a":1,"a":1}', '{"x":{"b":1,"a":[],"\\u0061":2}}', '[{"a":{"a":1},"a" : 2}]'])(
    'names the duplicate member in %s',
    (text) => {
      expect(inexactJson(text)).toBe('arguments name the member "a" twice');
    },
  );

  it('accepts equal names in different objects and inside strings', () => {
    expect(inexactJson('{"a":{"a":"a"},"b":[{"a":1},{"a":"\\"a\\":1"}]}')).toBeUndefined();
  });

  it('rejects the member `__proto__`', () => {
    expect(inexactJson('{"a":{"__proto__":1}}')).toBe('arguments have a member "__proto__", which is not allowed');
  });

  it('takes time linear in the text', () => {
    const zeros = `{"a":1${'0'.repeat(2_000_000)}1}`;
    const mixed = `{"a":0.${'10'.repeat(1_000_000)}}`;
    const text = `{"a":"${'\\\\'.repeat(1_000_000)}"}`;
    expect([zeros, mixed, text].map((json) => inexactJson(json) === undefined)).toEqual([false, false, true]);
  });
});

describe('mayBeRounded', () => {
  it('detects integers that JSON.parse may have rounded', () => {
    expect(mayBeRounded({ a: [{ b: 12345678901234567000 }] })).toBe(true);
    expect(mayBeRounded({ a: [Number.MAX_SAFE_INTEGER, -1.5, '12345678901234567890', null] })).toBe(false);
  });
});
