import { describe, expect, it } from '@jest/globals';

import { difference } from './apply-folder.js';

describe('difference()', () => {
  it('returns `create` for a resource that the server does not have', () => {
    expect(difference(null, { name: 'x' })).toEqual({ action: 'create', fields: [] });
  });

  it('finds nothing to change when only the order of keys differs', () => {
    const current = { a: 1, b: { c: [1, { d: null, e: 2 }] } };
    const desired = { b: { c: [1, { e: 2, d: null }] }, a: 1 };
    expect(difference(current, desired)).toEqual({ action: 'unchanged', fields: [] });
  });

  it('names each changed, added and removed field by its path', () => {
    const current = { name: 'x', limits: { maxRounds: 5 }, rules: [{ match: 'a' }, { match: 'b' }] };
    const desired = { name: 'y', limits: { maxOutputBytes: 9 }, rules: [{ match: 'a' }, { match: 'c' }] };
    expect(difference(current, desired)).toEqual({
      action: 'change',
      fields: [
        { path: 'name', before: 'x', after: 'y' },
        { path: 'limits.maxRounds', before: 5, after: undefined },
        { path: 'limits.maxOutputBytes', before: undefined, after: 9 },
        { path: 'rules.1.match', before: 'b', after: 'c' },
      ],
    });
  });

  it('shows the whole list when its length changes', () => {
    expect(difference({ tools: ['a'] }, { tools: ['a', 'b'] }).fields).toEqual([
      { path: 'tools', before: ['a'], after: ['a', 'b'] },
    ]);
  });

  it.each([
    [null, {}],
    [[], {}],
    [null, undefined],
    [0, false],
    ['1', 1],
  ])('reports a change from %j to %j', (before, after) => {
    expect(difference({ value: before }, { value: after })).toMatchObject({ action: 'change' });
  });
});
