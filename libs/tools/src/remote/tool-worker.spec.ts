import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ToolSlots } from './tool-worker.js';

const limits = { total: 5, perTool: 3, perWorkspace: 2 };

describe('ToolSlots', () => {
  it('acquires no slot for a tool or workspace at its limit until one is released', () => {
    const slots = new ToolSlots(limits);
    const release = slots.acquire({ tool: 'dig', workspaceId: 'a' });
    slots.acquire({ tool: 'dig', workspaceId: 'a' });
    slots.acquire({ tool: 'dig', workspaceId: 'b' });
    expect(slots.busyTools).toEqual(['dig']);
    expect(slots.acquire({ tool: 'dig', workspaceId: 'c' })).toBeUndefined();
    expect(slots.acquire({ tool: 'fly', workspaceId: 'a' })).toBeUndefined();
    release?.();
    release?.();
    expect([slots.busyTools, slots.size]).toEqual([[], 2]);
    expect(slots.acquire({ tool: 'fly', workspaceId: 'a' })).toBeDefined();
  });

  it('exceeds no limit, and refuses a slot only at a limit', () => {
    const occupant = fc.record({ tool: fc.constantFrom('dig', 'fly', 'swim'), workspaceId: fc.constantFrom('a', 'b') });
    const move = fc.oneof({ weight: 3, arbitrary: occupant }, { weight: 2, arbitrary: fc.nat() });
    fc.assert(
      fc.property(fc.array(move), (moves) => {
        const slots = new ToolSlots(limits);
        const held: { tool: string; workspaceId: string; release: () => void }[] = [];
        const count = (of: (one: (typeof held)[number]) => boolean) => held.filter(of).length;
        for (const wanted of moves) {
          if (typeof wanted === 'number') {
            for (const { release } of held.splice(wanted % 4, 1)) release();
            continue;
          }
          const isFull =
            held.length >= limits.total ||
            count(({ tool }) => tool === wanted.tool) >= limits.perTool ||
            count(({ workspaceId }) => workspaceId === wanted.workspaceId) >= limits.perWorkspace;
          const release = slots.acquire(wanted);
          expect(release === undefined).toBe(isFull);
          if (release !== undefined) held.push({ ...wanted, release });
          expect(slots.size).toBe(held.length);
        }
      }),
    );
  });
});
