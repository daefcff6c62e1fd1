import { describe, expect, it } from '@jest/globals';

import { isOpen, toolCallStatuses } from './tool-call.js';
import { isFinal, toolCallMoves } from './tool-call.lifecycle.js';

describe('the life of a tool call', () => {
  it('ends: every open status reaches a settled one', () => {
    for (const status of toolCallStatuses.filter(isOpen))
      expect(toolCallMoves[status].some((to) => !isOpen(to))).toBe(true);
  });

  it('leaves nothing settled but an interrupted call, and that only by a decision', () => {
    const settled = toolCallStatuses.filter((status) => !isOpen(status));
    expect(settled.filter((status) => !isFinal(status))).toEqual(['interrupted']);
    expect(toolCallMoves.interrupted).toEqual(['pending', 'completed', 'error']);
  });

  it('interrupts only what had begun', () => {
    expect(toolCallStatuses.filter((from) => toolCallMoves[from].includes('interrupted'))).toEqual(['running']);
  });
});
