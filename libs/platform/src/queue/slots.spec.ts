import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { Slots } from './slots.js';

const limits = { total: 5, perValue: { tool: 3, workspace: 2 } };

describe('Slots', () => {
  it('acquires no slot for a tool or workspace at its limit until one is released', () => {
    const slots = new Slots(limits);
    const release = slots.acquire({ tool: 'dig', workspace: 'a' });
    slots.acquire({ tool: 'dig', workspace: 'a' });
    slots.acquire({ tool: 'dig', workspace: 'b' });
    expect(slots.acquire({ tool: 'dig', workspace: 'c' })).toBeUndefined();
    expect(slots.acquire({ tool: 'fly', workspace: 'a' })).toBeUndefined();
    release?.();
    release?.();
    expect(slots.size).toBe(2);
    expect(slots.acquire({ tool: 'fly', workspace: 'a' })).toBeDefined();
  });

  it('exceeds no limit, and refuses a slot only at a limit', () => {
    const occupant = fc.record({ tool: fc.constantFrom('dig', 'fly', 'swim'), workspace: fc.constantFrom('a', 'b') });
    const move = fc.oneof({ weight: 3, arbitrary: occupant }, { weight: 2, arbitrary: fc.nat() });
    fc.assert(
      fc.property(fc.array(move), (moves) => {
        const slots = new Slots(limits);
        const held: { tool: string; workspace: string; release: () => void }[] = [];
        const count = (of: (one: (typeof held)[number]) => boolean) => held.filter(of).length;
        for (const wanted of moves) {
          if (typeof wanted === 'number') {
            for (const { release } of held.splice(wanted % 4, 1)) release();
            continue;
          }
          const isFull =
            held.length >= limits.total ||
            count(({ tool }) => tool === wanted.tool) >= limits.perValue.tool ||
            count(({ workspace }) => workspace === wanted.workspace) >= limits.perValue.workspace;
          const release = slots.acquire(wanted);
          expect(release === undefined).toBe(isFull);
          if (release !== undefined) held.push({ ...wanted, release });
          expect(slots.size).toBe(held.length);
        }
      }),
    );
  });
});
