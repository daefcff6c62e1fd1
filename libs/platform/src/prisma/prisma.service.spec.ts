import { expect, it } from '@jest/globals';

import { statementNames } from './prisma.service.js';

it('statementNames names a text on its second use and keeps the name', () => {
  const nameOf = statementNames();
  const uses = ['a', 'b', 'a', 'a', 'b', 'c'].map((sql) => nameOf({ sql }));
  expect(uses).toEqual(['', '', 'prisma-1', 'prisma-1', 'prisma-2', '']);
});

it('statementNames leaves texts without a name when the limit is reached', () => {
  const nameOf = statementNames(2);
  for (const sql of ['a', 'b', 'a', 'b']) nameOf({ sql });
  const further = ['c', 'c', 'd', 'd', 'c', 'a'].map((sql) => nameOf({ sql }));
  expect(further).toEqual(['', '', '', '', '', 'prisma-1']);
});
