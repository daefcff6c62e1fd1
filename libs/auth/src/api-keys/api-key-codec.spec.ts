import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ApiKeyCodec, prefixOf } from './api-key-codec.js';

const codec = new ApiKeyCodec('a secret of at least thirty-two characters');

describe('ApiKeyCodec', () => {
  it('creates unique keys in the documented format', () => {
    const keys = Array.from({ length: 100 }, () => codec.mint());
    for (const { text, prefix } of keys) {
      expect(text).toMatch(/^nsk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}$/);
      expect(prefixOf(text)).toBe(prefix);
    }
    expect(new Set(keys.map(({ text }) => text)).size).toBe(100);
    expect(new Set(keys.map(({ prefix }) => prefix)).size).toBe(100);
  });

  it('recognizes a key that it encoded', () => {
    const { text, hash } = codec.mint();
    expect(codec.matches(text, hash)).toBe(true);
  });

  it('refuses a key with any character changed', () => {
    const { text, hash } = codec.mint();
    fc.assert(
      fc.property(fc.nat({ max: text.length - 1 }), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
        fc.pre(text[at] !== character);
        expect(codec.matches(text.slice(0, at) + character + text.slice(at + 1), hash)).toBe(false);
      }),
    );
  });

  it('refuses a key without a stored digest, and digests of a wrong length', () => {
    const { text, hash } = codec.mint();
    expect(codec.matches(text, null)).toBe(false);
    expect(codec.matches(text, hash.subarray(0, 31))).toBe(false);
    expect(codec.matches(text, new Uint8Array(32))).toBe(false);
  });

  it('refuses a key made under another pepper', () => {
    const { text, hash } = new ApiKeyCodec('another secret of more than thirty-two characters').mint();
    expect(codec.matches(text, hash)).toBe(false);
  });

  it('accepts a key made under a previous pepper, and hashes it under the current one', () => {
    const old = 'the secret before, of more than thirty-two characters';
    const { text, hash } = new ApiKeyCodec(old).mint();
    const rotated = new ApiKeyCodec('the secret after, of more than thirty-two characters', [old]);
    expect(rotated.matches(text, hash)).toBe(true);
    expect(rotated.matches(`${text.slice(0, -1)}_`, hash)).toBe(false);
    expect(Buffer.compare(rotated.hashOf(text), hash)).not.toBe(0);
    expect(rotated.matches(text, rotated.hashOf(text))).toBe(true);
  });

  it.each([
    '',
    'nsk_',
    'nsk_short_x',
    `nsk_${'A'.repeat(12)}_${'a'.repeat(43)}`,
    `nsk_${'a'.repeat(12)}_${'a'.repeat(44)}`,
    ` nsk_${'a'.repeat(12)}_${'a'.repeat(43)}`,
  ])('finds no prefix in %j', (text) => {
    expect(prefixOf(text)).toBeNull();
  });
});
