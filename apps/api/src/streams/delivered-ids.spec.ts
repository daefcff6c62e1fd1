import { describe, expect, it } from '@jest/globals';

import { DeliveredIds } from './delivered-ids.js';

describe('rows that a viewer was told of', () => {
  it('begin once and end once, and may begin again', () => {
    const told = new DeliveredIds();
    expect([told.begin('a'), told.begin('a'), told.end('a'), told.end('a'), told.begin('a')]).toEqual([
      ...[true, false, true, false],
      true,
    ]);
  });

  it('are a bounded number: the oldest are forgotten', () => {
    const told = new DeliveredIds(2);
    for (const id of ['a', 'b', 'c']) told.begin(id);
    expect([told.end('a'), told.end('b'), told.end('c')]).toEqual([false, true, true]);
  });
});
