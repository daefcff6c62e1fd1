import { describe, expect, it } from '@jest/globals';

import type { JobEvent, NewJobEvent } from '../events/job-event.js';
import { JobTail } from './job-tail.js';

const long = 'x'.repeat(64 * 1024);
const branch = { nodeRunId: 'j:1', nodeId: 'n', branchId: 'b', label: 'B' };
const node = { nodeRunId: 'j:1', nodeId: 'n', label: 'N', type: 'transform', path: [] };

/** How many of 20 such events the tail keeps. */
function keptOf(event: NewJobEvent): number {
  const tail = new JobTail('w', 'j');
  tail.align(0);
  tail.push(Array.from({ length: 20 }, (_, i): JobEvent => ({ ...event, jobId: 'j', attempt: 0, at: 0, seq: i + 1 })));
  const first = Array.from({ length: 20 }, (_, after) => tail.after(after)).find((events) => events !== undefined);
  return first?.length ?? 0;
}

describe('JobTail', () => {
  it.each<[NewJobEvent]>([
    [{ type: 'text-delta', body: { round: 1, text: long } }],
    [{ type: 'node-finished', body: { ...node, status: 'completed', output: long } }],
    [{ type: 'branch-finished', body: { ...branch, status: 'completed', output: long } }],
  ])('keeps at most 512 Ki characters of long texts of every event type', (event) => {
    expect(keptOf(event)).toBe(7);
  });

  it('keeps all of 20 short events', () => {
    expect(keptOf({ type: 'node-finished', body: { ...node, status: 'completed', output: 'done' } })).toBe(20);
  });
});
