import { describe, expect, it } from '@jest/globals';

import { isOpen, toolCallStatuses } from './tool-call.js';
import { isFinal, toolCallMoves } from './tool-call.lifecycle.js';

describe('the statuses of a tool call', () => {
  it('let every open status reach a settled one', () => {
    for (const status of toolCallStatuses.filter(isOpen))
      expect(toolCallMoves[status].some((to) => !isOpen(to))).toBe(true);
  });

  it('allow only a decision to change a settled call, and only an interrupted one', () => {
    const settled = toolCallStatuses.filter((status) => !isOpen(status));
    expect(settled.filter((status) => !isFinal(status))).toEqual(['interrupted']);
    expect(toolCallMoves.interrupted).toEqual(['pending', 'completed', 'error']);
  });

  it('allow only running calls to be interrupted', () => {
    expect(toolCallStatuses.filter((from) => toolCallMoves[from].includes('interrupted'))).toEqual(['running']);
  });
});
