import { expect, it } from '@jest/globals';

import type { Model, ModelPart } from '#models';
import { ManualClock } from '#platform';

import { withRoundLimit } from './round-limit.js';

const part: ModelPart = { type: 'text', text: 'Once' };

/** Sends one piece of text, then nothing until it is aborted. */
const stuck: Model = {
  async *stream(_, signal) {
    yield [part];
    await new Promise((_resolve, reject) => {
      const stop = () => {
        reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
      };
      signal.addEventListener('abort', stop, { once: true });
    });
  },
};

const request = { model: 'm', messages: [] };

it('the time limit of a round ends an incomplete response with model_timeout, after its text', async () => {
  const clock = new ManualClock();
  const stream = withRoundLimit(stuck, 1_000, clock)
    .stream(request, new AbortController().signal)
    [Symbol.asyncIterator]();
  expect(await stream.next()).toEqual({ done: false, value: [part] });
  const end = stream.next();
  clock.advance(1_000);
  await expect(end).rejects.toMatchObject({
    ...{ code: 'model_timeout', retryable: true, afterFirstByte: true, mayRestart: false },
  });
  expect(clock.pending).toBe(0);
});

it('the time limit of a round passes on the abort of its job, and leaves no timer', async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const stream = withRoundLimit(stuck, 1_000, clock).stream(request, controller.signal)[Symbol.asyncIterator]();
  await stream.next();
  const end = stream.next();
  const reason = new Error('cancelled');
  controller.abort(reason);
  await expect(end).rejects.toBe(reason);
  expect(clock.pending).toBe(0);
});
