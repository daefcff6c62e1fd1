import { describe, expect, it } from '@jest/globals';

import { HintBus } from '../../../../../test/harness/identities.js';
import { WorkspaceActivity } from './workspace-activity.js';

const here = 'workspace-1';

function setUp() {
  const bus = new HintBus();
  const activity = new WorkspaceActivity(bus);
  const ending = new AbortController();
  const move = (jobId: string, workspaceId = here) => {
    bus.publish('job-events', { workspaceId, jobId, seq: 1, status: 'running' });
  };
  /** Starts a subscription; it gets only later changes. */
  const watch = () => {
    const changes = activity.changes(here, ending.signal);
    return { first: changes.next(), next: () => changes.next() };
  };
  return { bus, activity, ending, move, watch };
}

describe('WorkspaceActivity', () => {
  it('delivers each changed job once per batch, in the order of the last change', async () => {
    const { move, watch } = setUp();
    const { first, next } = watch();
    for (const jobId of ['a', 'b', 'a', 'c']) move(jobId);
    expect(await first).toEqual({ done: false, value: ['b', 'a', 'c'] });
    move('b');
    expect(await next()).toEqual({ done: false, value: ['b'] });
  });

  it('ignores other workspaces and jobs that only appended events', async () => {
    const { bus, move, watch } = setUp();
    const { first } = watch();
    move('theirs', 'workspace-2');
    bus.publish('job-events', { workspaceId: here, jobId: 'grew', seq: 2 });
    move('ours');
    expect(await first).toEqual({ done: false, value: ['ours'] });
  });

  it('remembers a bounded number of jobs for a viewer that is slow', async () => {
    const { move, watch } = setUp();
    const { first } = watch();
    for (let i = 0; i < 5_000; i += 1) move(`job-${i}`);
    const { value } = await first;
    expect([value?.length, value?.at(-1)]).toEqual([1_000, 'job-4999']);
  });

  it('ends its subscription to the bus when its last viewer leaves', async () => {
    const { bus, activity, ending, watch } = setUp();
    const [one, other] = [watch(), watch()];
    expect([activity.size, bus.listening]).toEqual([1, 1]);
    ending.abort();
    expect(await Promise.all([one.first, other.first])).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
    expect([activity.size, bus.listening]).toEqual([0, 0]);
  });
});
