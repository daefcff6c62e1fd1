import { describe, expect, it } from '@jest/globals';

import { firstIdAt, isId, newId } from './ids.js';

describe('ids', () => {
  it('sort by their creation time', () => {
    const ids = Array.from({ length: 100 }, newId);
    expect([...ids].sort()).toEqual(ids);
  });

  it('lie between the first ids of their millisecond and of the next minute', () => {
    const now = Date.now();
    const id = newId();
    expect(id >= firstIdAt(now)).toBe(true);
    expect(id < firstIdAt(now + 60_000)).toBe(true);
    expect(isId(firstIdAt(now))).toBe(true);
  });
});
