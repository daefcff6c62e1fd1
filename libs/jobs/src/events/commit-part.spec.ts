import { expect, it } from '@jest/globals';

import { type CommitPart, statementName } from './commit-part.js';

const part = (name: string): CommitPart<readonly []> => ({ name, columns: [], sql: (rows) => `SELECT 1 FROM ${rows}` });
// With the hash of the hooks, as EventActions names it.
const what = 'commit-actions-0123456789abcdef';

it('statementName keeps the names of statements with many parts apart within 63 characters', () => {
  const parts = ['new_calls', 'opened_interrupts', 'rounds', 'settled_calls'].map(part);
  const names = [
    [...parts, part('job_ends')],
    [...parts, part('tool_outputs')],
  ].map((all) => statementName(what, all));
  expect(new Set(names).size).toBe(2);
  expect(names.filter((name) => name.length > 63)).toEqual([]);
});
