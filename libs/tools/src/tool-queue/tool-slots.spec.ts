import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ToolSlots } from './tool-slots.js';

const limits = { total: 5, perTool: 3, perWorkspace: 2 };

describe('ToolSlots', () => {
  it('names the tools and workspaces that have no room', () => {
    const slots = new ToolSlots(limits);
    const leave = slots.enter({ tool: 'dig', workspaceId: 'a' });
    slots.enter({ tool: 'dig', workspaceId: 'a' });
    slots.enter({ tool: 'dig', workspaceId: 'b' });
    expect([slots.busyTools, slots.busyWorkspaces]).toEqual([['dig'], ['a']]);
    leave();
    leave();
    expect([slots.busyTools, slots.busyWorkspaces, slots.size]).toEqual([[], [], 2]);
  });

  it('never has more than any limit allows, when as many as there is room for come from those that are not busy', () => {
    const occupant = fc.record({ tool: fc.constantFrom('dig', 'fly', 'swim'), workspaceId: fc.constantFrom('a', 'b') });
    const move = fc.oneof({ weight: 3, arbitrary: fc.array(occupant) }, { weight: 2, arbitrary: fc.nat() });
    fc.assert(
      fc.property(fc.array(move), (moves) => {
        const slots = new ToolSlots(limits);
        const inside: { tool: string; workspaceId: string; leave: () => void }[] = [];
        const count = (of: (one: (typeof inside)[number]) => boolean) => inside.filter(of).length;
        for (const comers of moves) {
          if (typeof comers === 'number') {
            for (const { leave } of inside.splice(comers % 4, 1)) leave();
            continue;
          }
          const { room, busyTools, busyWorkspaces } = slots;
          const admitted = comers
            .filter((it) => !busyTools.includes(it.tool) && !busyWorkspaces.includes(it.workspaceId))
            .slice(0, Math.max(0, room));
          for (const it of admitted) inside.push({ ...it, leave: slots.enter(it) });
          expect(slots.size).toBe(inside.length);
          expect(inside.length).toBeLessThanOrEqual(limits.total);
          for (const { tool, workspaceId } of inside) {
            expect(count((it) => it.tool === tool)).toBeLessThanOrEqual(limits.perTool);
            expect(count((it) => it.workspaceId === workspaceId)).toBeLessThanOrEqual(limits.perWorkspace);
          }
        }
      }),
    );
  });
});
