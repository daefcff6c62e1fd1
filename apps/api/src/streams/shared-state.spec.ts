import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';
import type { WorkflowState } from '#workflows';

import { SharedState, stateIntervalMs } from './shared-state.js';

/** A state whose reads the test answers by their versions. */
function scene() {
  const clock = new ManualClock();
  const reads: PromiseWithResolvers<WorkflowState>[] = [];
  const read = () => {
    const asked = Promise.withResolvers<WorkflowState>();
    reads.push(asked);
    return asked.promise;
  };
  const answer = async (at: number, version: number) => {
    await settled();
    reads[at]?.resolve({ version } as WorkflowState); // only the version is looked at
    await settled();
  };
  return { clock, reads, answer, state: new SharedState({ read, clock }) };
}

const settled = () => new Promise(setImmediate);

describe('SharedState', () => {
  it('reads once for concurrent viewers', async () => {
    const { state, reads, answer } = scene();
    const viewers = [1, 2, 3].map((seq) => state.since(seq));
    await settled();
    expect(reads).toHaveLength(1);
    await answer(0, 3);
    const [first, ...others] = await Promise.all(viewers);
    expect(others).toEqual([first, first]);
  });

  it('does not read again when nothing has changed', async () => {
    const { state, reads, answer, clock } = scene();
    const first = state.since(1);
    await answer(0, 5);
    clock.advance(10 * stateIntervalMs);
    expect(await state.since(5)).toBe(await first);
    expect(reads).toHaveLength(1);
  });

  it('reads again after the interval for a viewer that has a newer event', async () => {
    const { state, reads, answer, clock } = scene();
    const first = state.since(1);
    await answer(0, 5);
    await first;
    const next = state.since(6);
    clock.advance(stateIntervalMs - 1);
    await settled();
    expect(reads).toHaveLength(1);
    clock.advance(1);
    await settled();
    await answer(1, 7);
    expect(await next).toMatchObject({ version: 7 });
  });

  it('reads once more when the current read began before the event', async () => {
    const { state, answer, clock } = scene();
    void state.since(1);
    const late = state.since(6);
    await answer(0, 5);
    clock.advance(stateIntervalMs);
    await settled();
    await answer(1, 6);
    expect(await late).toMatchObject({ version: 6 });
  });

  it('can be read after a read that failed', async () => {
    const { state, reads, answer, clock } = scene();
    const failed = state.since(1);
    await settled();
    reads[0]?.reject(new Error('the database is away'));
    await expect(failed).rejects.toThrow('away');
    const next = state.since(1);
    clock.advance(stateIntervalMs);
    await settled();
    await answer(1, 1);
    expect(await next).toMatchObject({ version: 1 });
  });
});
