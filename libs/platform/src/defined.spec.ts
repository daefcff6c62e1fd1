import { expect, it } from '@jest/globals';

import { defined } from './defined.js';

it('defined leaves out undefined fields and keeps null, false, 0 and empty texts', () => {
  expect(Object.entries(defined({ a: undefined, b: null, c: false, d: 0, e: '' }))).toEqual([
    ...[['b', null] as const, ['c', false] as const, ['d', 0] as const],
    ['e', ''],
  ]);
});
