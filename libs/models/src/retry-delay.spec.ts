import { describe, expect, it } from '@jest/globals';

import { parseRetryAfter } from './provider-failure.js';

const now = Date.parse('Fri, 20 Nov 2026 20:00:00 GMT');

describe('parseRetryAfter', () => {
  it.each([
    ['2', 2],
    [' 0 ', 0],
    ['1.2', 2],
    ['99999999999', 86_400],
    ['Fri, 20 Nov 2026 20:00:07 GMT', 7],
    ['Fri, 20 Nov 2026 19:00:00 GMT', 0],
    ['Fri, 20 Nov 2099 19:00:00 GMT', 86_400],
    ['-5', 0],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('reads %s as %s seconds', (header, seconds) => {
    expect(parseRetryAfter(header, now)).toBe(seconds);
  });
});
