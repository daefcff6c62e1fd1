import { describe, expect, it } from '@jest/globals';

import { systemClock } from '../clock.js';
import { WorkspaceBatches } from './workspace-batches.js';

describe('WorkspaceBatches', () => {
  it('never mixes workspaces in a batch, and keeps no workspace after its batch', async () => {
    const seen: [string, readonly number[]][] = [];
    const batches = new WorkspaceBatches<number, number>(
      (workspaceId, items) => {
        seen.push([workspaceId, items]);
        return Promise.resolve(items);
      },
      systemClock,
      { tickMs: 0, maxBatch: 10 },
    );
    await Promise.all([batches.submit('a', 1), batches.submit('b', 2), batches.submit('a', 3)]);
    expect(seen).toEqual([
      ['a', [1, 3]],
      ['b', [2]],
    ]);
    while (batches.size > 0) await new Promise(setImmediate);
    expect(await batches.submit('a', 4)).toBe(4);
  });
});
