import { describe, expect, it } from '@jest/globals';

import { DeliveredIds } from './delivered-ids.js';

describe('DeliveredIds', () => {
  it('reports each start and each end of a row once, and a new start after the end', () => {
    const delivered = new DeliveredIds();
    expect([
      delivered.begin('a'),
      delivered.begin('a'),
      delivered.end('a'),
      delivered.end('a'),
      delivered.begin('a'),
    ]).toEqual([...[true, false, true, false], true]);
  });

  it('forgets the oldest rows beyond its limit', () => {
    const delivered = new DeliveredIds(2);
    for (const id of ['a', 'b', 'c']) delivered.begin(id);
    expect([delivered.end('a'), delivered.end('b'), delivered.end('c')]).toEqual([false, true, true]);
  });
});
