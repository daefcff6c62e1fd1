import { describe, expect, it } from '@jest/globals';

import { selectedText } from './selected-text.js';

const list = (found: readonly unknown[], isCut = false) => ({ found, isSingular: false, isCut });
const one = (...found: readonly unknown[]) => ({ found, isSingular: true, isCut: false });

describe('the text of a selection', () => {
  it('equals the value itself, or a list of all matches', () => {
    expect(selectedText(one('text'))).toBe('text');
    expect(selectedText(one({ a: [1] }))).toBe('{"a":[1]}');
    expect(selectedText(one())).toBe('null');
    expect(selectedText(list(['a', 1, null]))).toBe('["a",1,null]');
    expect(selectedText(list([]))).toBe('[]');
  });

  it('truncates to its limit, and reports this', () => {
    expect(selectedText(list(['aaaa', 'bbbb', 'cccc']), 20)).toBe('["aaaa","bbbb"]\n[cut: the first 2 of 3 found]');
    expect(selectedText(list(['a'.repeat(30)]), 20)).toBe('[]\n[cut: the first 0 of 1 found]');
    expect(selectedText(list([1, 2], true))).toBe('[1,2]\n[cut: the first 2 found]');
  });

  it('stays within 8 MiB when matches contain each other', () => {
    const leaf = 'x'.repeat(1_048_576);
    expect(selectedText(list(Array.from({ length: 200 }, () => [leaf]))).length).toBeLessThan(8_388_700);
  });
});
