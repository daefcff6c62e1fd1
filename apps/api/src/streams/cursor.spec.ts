import { expect, it } from '@jest/globals';

import { AppError } from '#platform';

import { toCursor } from './cursor.js';

it.each([
  [undefined, undefined, undefined],
  [undefined, '7', 7],
  ['5', '7', 5],
  ['5', 'garbage', 5],
  ['', '7', 7],
  [undefined, '', undefined],
  ['0', undefined, 0],
  [undefined, '99999999999999', 2_147_483_647],
])('the stream cursor of header %p and ?after=%p is %p', (header, after, cursor) => {
  expect(toCursor(header, after)).toBe(cursor);
});

it.each([
  ['-1', undefined],
  ['1.5', undefined],
  ['abc', '7'],
  ['1e3', undefined],
  ['9'.repeat(16), undefined],
  [undefined, '-1'],
  [undefined, ' 7'],
  [undefined, ['1', '2']],
])('the stream cursor is refused by name for header %p and ?after=%p', (header, after) => {
  const refused = () => toCursor(header, after);
  expect(refused).toThrow(AppError);
  expect(refused).toThrow(expect.objectContaining({ code: 'invalid_cursor' }));
});
