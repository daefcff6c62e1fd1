import { expect, it } from '@jest/globals';

import { ownKindsOf } from './own-kinds.js';

const kindsOf = (collection: string | null, database = 'acme') => ownKindsOf({ database, collection }, ['id', 'acme']);

it('ownKindsOf returns the kinds of rows that a pattern may match', () => {
  expect(kindsOf('jobs')).toEqual(['jobs']);
  expect(kindsOf('*')).toEqual(['jobs']);
  expect(kindsOf('threads/*/messages')).toEqual(['messages']);
  expect(kindsOf('threads/0199f0d2-7c1b-7c55-9d0a-3f3c5f2f4a10/tool-calls')).toEqual(['tool-calls']);
  expect(kindsOf('t*/*/[mt]*')).toEqual(['messages', 'tool-calls']);
  expect(kindsOf('jobs', 'id')).toEqual(['jobs']);
});

it('ownKindsOf returns nothing for a pattern or a database that is not of the workspace', () => {
  for (const other of ['orders', 'threads', 'threads/*', 'threads/*/*/messages', 'users/*/messages', 'threads/1/'])
    expect(kindsOf(other)).toEqual([]);
  expect(kindsOf('jobs', 'shop')).toEqual([]);
  expect(kindsOf(null)).toEqual([]);
});
