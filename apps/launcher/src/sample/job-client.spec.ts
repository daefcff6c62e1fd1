import { describe, expect, it } from '@jest/globals';

import { toSampleEvent } from './job-client.js';

const toolCall = { callId: 'c1', name: 'calculate', status: 'PENDING', arguments: '{}', result: null, error: null };

describe('toSampleEvent', () => {
  it.each([
    [
      { __typename: 'TextDeltaEvent', text: 'x' },
      { type: 'text', text: 'x' },
    ],
    [
      { __typename: 'RoundStartedEvent', round: 1, model: 'demo' },
      { type: 'round-started', round: 1, model: 'demo' },
    ],
    [
      { __typename: 'RoundFinishedEvent', round: 1 },
      { type: 'round-finished', round: 1 },
    ],
    [{ __typename: 'JobWaitingEvent' }, { type: 'waiting' }],
    [
      { __typename: 'JobFinishedEvent', status: 'COMPLETED', reason: 'stop' },
      { type: 'finished', status: 'completed', reason: 'stop' },
    ],
    [
      { __typename: 'JobFinishedEvent', status: 'FAILED', reason: 'deadline', error: { message: 'Job timed out' } },
      { type: 'finished', status: 'failed', reason: 'Job timed out' },
    ],
  ])('reads the event %j', (entry, event) => {
    expect(toSampleEvent(entry)).toEqual(event);
  });

  it('distinguishes open calls from settled ones', () => {
    const read = (changes: object) =>
      toSampleEvent({ __typename: 'ToolCallUpdatedEvent', toolCall: { ...toolCall, ...changes } });

    expect(read({})).toMatchObject({ isSettled: false });
    expect(read({ status: 'RUNNING' })).toMatchObject({ isSettled: false });
    expect(read({ status: 'COMPLETED', result: '391' })).toMatchObject({ isSettled: true, outcome: '391' });
    expect(read({ status: 'TIMED_OUT', error: 'too slow' })).toMatchObject({ isSettled: true, outcome: 'too slow' });
    expect(read({ status: 'SKIPPED' })).toMatchObject({ isSettled: true, outcome: 'skipped' });
  });

  it('ignores an unknown event', () => {
    expect(toSampleEvent({ __typename: 'SomethingNewEvent' })).toBeNull();
    expect(toSampleEvent(undefined)).toBeNull();
  });
});
