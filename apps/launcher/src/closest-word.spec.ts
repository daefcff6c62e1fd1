import { describe, expect, it } from '@jest/globals';

import { closestWord } from './closest-word.js';

describe('closestWord', () => {
  it.each([
    ['prot', 'port'],
    ['role', 'role'],
    ['rol', 'role'],
    ['xrole', 'role'],
    ['nothing', undefined],
    ['', undefined],
  ])('finds for %j %j', (word, found) => {
    expect(closestWord(word, ['port', 'role'])).toBe(found);
  });
});
