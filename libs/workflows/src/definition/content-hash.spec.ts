import { describe, expect, it } from '@jest/globals';

import { contentHash } from './content-hash.js';

describe('the hash of a definition', () => {
  it('does not depend on the order of members or on whitespace', () => {
    const one: unknown = JSON.parse('{"meta": {"name": "x", "version": "2.0.0"}, "nodes": []}');
    const other: unknown = JSON.parse('{"nodes":[],"meta":{"version":"2.0.0","name":"x"}}');
    expect(contentHash(one)).toBe(contentHash(other));
    expect(contentHash(one)).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['a field that is unknown', '{"a":1,"b":2}'],
    ['the order of a list', '{"a":[2,1]}'],
    ['a type', '{"a":"1"}'],
    ['a member called __proto__', '{"a":1,"__proto__":{}}'],
  ])('depends on %s', (_fact, text) => {
    expect(contentHash(JSON.parse(text))).not.toBe(contentHash({ a: 1 }));
    expect(contentHash(JSON.parse(text))).not.toBe(contentHash({ a: [1, 2] }));
  });
});
