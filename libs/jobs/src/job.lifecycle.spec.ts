import { describe, expect, it } from '@jest/globals';

import { isTerminal, jobMoves, jobStatuses, terminalStatuses } from './job.lifecycle.js';

describe('jobMoves', () => {
  it('allows no move out of a terminal status', () => {
    for (const status of terminalStatuses) expect(jobMoves[status]).toEqual([]);
    expect(jobStatuses.filter(isTerminal)).toEqual([...terminalStatuses]);
  });

  it('allows a move to a terminal status from every other status', () => {
    for (const status of jobStatuses.filter((s) => !isTerminal(s))) {
      expect(jobMoves[status].some(isTerminal)).toBe(true);
    }
  });

  it('allows a waiting job to run only after it is queued again', () => {
    expect(jobMoves.waiting).not.toContain('running');
    expect(jobMoves.waiting).toContain('queued');
  });
});
