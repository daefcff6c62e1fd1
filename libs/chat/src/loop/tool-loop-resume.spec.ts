import { describe, expect, it } from '@jest/globals';

import { calls, finish, kinds, play, settled, text } from '../../../../test/harness/scripted-loop.js';
import type { LoopRound } from './loop-step.js';

describe('toolLoop of a resumed job', () => {
  it('resumes after the last committed round', async () => {
    const { steps, requests } = await play([[[text('.'), finish()]]], {
      rounds: [settled(1, 'one'), settled(2, 'two', '{"a":2}')],
    });
    expect(steps[0]).toMatchObject({ type: 'round-started', round: 3 });
    expect(requests[0]?.messages.map((message) => message.content)).toEqual(['hi', null, 'one', null, 'two']);
  });

  it('runs only open calls of the last committed round', async () => {
    const round = settled(1, 'one');
    const open = { ordinal: 2, callId: 'b', name: 'y', arguments: '{}', status: 'running', text: '' } as const;
    const { steps, requests } = await play([[[text('.'), finish()]]], {
      rounds: [{ ...round, calls: [...round.calls, open] }],
    });
    expect(steps[0]).toEqual({ type: 'run-calls', round: 1, calls: [open] });
    expect(requests[0]?.messages.slice(2).map((message) => message.content)).toEqual(['one', 'done 2']);
  });

  it('keeps the result of a settled call if the reply contains another', async () => {
    const round = settled(1, 'one');
    const open = { ordinal: 2, callId: 'b', name: 'y', arguments: '{}', status: 'pending', text: '' } as const;
    const { requests } = await play(
      [[[text('.'), finish()]]],
      { rounds: [{ ...round, calls: [...round.calls, open] }] },
      () => [1, 2].map((ordinal) => ({ ordinal, status: 'completed', text: `again ${ordinal}` })),
    );
    expect(requests[0]?.messages.slice(2).map((message) => message.content)).toEqual(['one', 'again 2']);
  });

  it('finishes without a request when the last committed round was the answer', async () => {
    const answer: LoopRound = { round: 1, text: 'Done', reasoning: '', finishReason: 'stop', calls: [] };
    const { steps, outcome } = await play([], { rounds: [answer] });
    expect([steps, outcome]).toEqual([[], { type: 'finished', reason: 'stop' }]);
  });

  it('skips calls that an earlier run completed', async () => {
    const { steps } = await play([[calls(['x', '{}'])], [[text('.'), finish()]]], { rounds: [settled(1, 'one')] });
    expect(kinds(steps)).not.toContain('run-calls');
  });
});
