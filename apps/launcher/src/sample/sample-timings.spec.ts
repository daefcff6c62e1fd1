import { describe, expect, it } from '@jest/globals';

import { SampleStopwatch } from './sample-timings.js';

describe('SampleStopwatch', () => {
  it('counts finished rounds and calls, and times the first of each kind', () => {
    const watch = new SampleStopwatch('job', 5.04);
    const call = { type: 'tool-call', name: 'calculate', args: '{}', outcome: '' } as const;
    watch.onEvent({ type: 'round-started', round: 1, model: 'demo' }, 7);
    watch.onEvent({ ...call, id: 'a', isSettled: false }, 8);
    watch.onEvent({ ...call, id: 'a', isSettled: true }, 9);
    watch.onEvent({ ...call, id: 'b', isSettled: true }, 9);
    watch.onEvent({ type: 'round-finished', round: 1 }, 10);
    watch.onEvent({ type: 'round-started', round: 2, model: 'demo' }, 10);
    watch.onEvent({ type: 'text', text: 'x' }, 11.26);
    watch.onEvent({ type: 'text', text: 'y' }, 12);
    watch.onEvent({ type: 'round-finished', round: 2 }, 13);

    expect(watch.onEvent({ type: 'finished', status: 'completed', reason: 'stop' }, 20)).toEqual({
      jobId: 'job',
      status: 'completed',
      rounds: 2,
      toolCalls: 2,
      acceptedMs: 5,
      firstEventMs: 7,
      firstTextMs: 11.3,
      totalMs: 20,
    });
  });

  it('does not count a round that failed', () => {
    const watch = new SampleStopwatch('job', 5);
    watch.onEvent({ type: 'round-started', round: 1, model: 'demo' }, 7);
    expect(watch.onEvent({ type: 'finished', status: 'failed', reason: 'The key is wrong.' }, 8)).toMatchObject({
      ...{ status: 'failed', rounds: 0 },
    });
  });

  it('reports a job that still waits when the sample ends', () => {
    const watch = new SampleStopwatch('job', 5);
    watch.onEvent({ type: 'round-started', round: 1, model: 'demo' }, 7);
    watch.onEvent({ type: 'round-finished', round: 1 }, 7.5);
    expect(watch.onEvent({ type: 'waiting' }, 8)).toBeUndefined();
    expect(watch.leave('waiting', 9)).toMatchObject({ status: 'waiting', rounds: 1, firstEventMs: 7, totalMs: 9 });
  });
});
