import { describe, expect, it } from '@jest/globals';

import { fileHashesIn } from './file-hashes.js';

const [a, b] = ['a'.repeat(64), '0b'.repeat(32)] as const;

describe('fileHashesIn', () => {
  it('finds each hash once, as a whole text or after file:', () => {
    const input = { messages: [{ file: { file_id: a } }], url: `file:${b}`, again: [a] };
    expect(fileHashesIn(JSON.stringify(input))).toEqual([a, b]);
  });

  it('finds no hash in longer, shorter and upper-case texts', () => {
    const input = [`see ${a} here`, `${a}0`, a.slice(1), a.toUpperCase(), { [`x${a}`]: `"${a}"` }];
    expect(fileHashesIn(JSON.stringify(input))).toEqual([]);
  });
});
