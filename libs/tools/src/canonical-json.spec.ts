import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { canonicalJson } from './canonical-json.js';

describe('canonicalJson', () => {
  it('sorts the members of every object and omits undefined ones', () => {
    expect(canonicalJson({ b: [], a: { d: {}, c: [1, null, undefined] }, e: undefined })).toBe(
      '{"a":{"c":[1,null,null],"d":{}},"b":[]}',
    );
  });

  it('keeps every value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(canonicalJson(JSON.parse(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('serializes 4 MB of text inside 900 objects in time', () => {
    let value: unknown = 'x'.repeat(4_000_000);
    for (let i = 0; i < 900; i++) value = { a: value, b: 1 };
    expect(canonicalJson(value)).toHaveLength(4_000_000 + 2 + 900 * 12);
  });
});
