import { describe, expect, it } from '@jest/globals';

import { canMove, isTerminal, jobMoves, jobStatuses, terminalStatuses } from './job.lifecycle.js';

describe('the life of a job', () => {
  it('leaves no terminal status', () => {
    for (const status of terminalStatuses) expect(jobMoves[status]).toEqual([]);
    expect(jobStatuses.filter(isTerminal)).toEqual([...terminalStatuses]);
  });

  it('reaches an end from every other status', () => {
    for (const status of jobStatuses.filter((s) => !isTerminal(s))) {
      expect(jobMoves[status].some(isTerminal)).toBe(true);
    }
  });

  it('never skips the queue: a waiting job runs only after it is queued again', () => {
    expect(canMove('waiting', 'running')).toBe(false);
    expect(canMove('waiting', 'queued')).toBe(true);
  });
});
