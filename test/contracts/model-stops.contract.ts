import { describe, expect, it } from '@jest/globals';

import * as script from '../harness/scripted-reply.js';
import { until } from '../harness/until.js';
import { type ModelFixture, question } from './model-fixture.js';

/** How long a model waits, and how it stops. */
export function describeStops(given: ModelFixture): void {
  describe('Model timeouts', () => {
    it.each([
      ['no header comes', { before: script.createGate() }],
      ['headers come and no byte', {}],
    ])('limit the wait for the first byte: %s', async (_, reply) => {
      given.server.enqueue({ ...reply, body: [], end: 'hang' });
      const call = given.run(question, { firstByteTimeoutMs: 500 });
      const request = await given.server.request(1);
      given.clock.advance(499);
      expect(request.aborted).toBe(false);
      given.clock.advance(1);
      expect(await call.failure()).toMatchObject({
        code: 'model_timeout',
        retryable: true,
        afterFirstByte: false,
        details: { stage: 'first_byte' },
      });
      await request.settled;
    });

    it('limit the wait between two reads', async () => {
      given.server.enqueue({ body: [script.textChunk('Hel')], end: 'hang' });
      const call = given.run(question, { idleTimeoutMs: 500 });
      await until('the text is there', () => call.seen.length === 1);
      given.clock.advance(499);
      expect((await given.server.request(1)).aborted).toBe(false);
      given.clock.advance(501);
      expect(await call.failure()).toMatchObject({
        code: 'model_timeout',
        afterFirstByte: true,
        details: { stage: 'idle' },
      });
      await (
        await given.server.request(1)
      ).settled;
      expect((await given.server.request(1)).aborted).toBe(true);
    });

    it('do not count the time of a slow consumer', async () => {
      const gate = script.createGate();
      given.server.enqueue({
        body: [script.textChunk('Hel'), gate, script.textChunk('lo'), script.finishChunk('stop'), script.doneLine],
      });
      let text = '';
      for await (const parts of given.model({ idleTimeoutMs: 500 }).stream(question, new AbortController().signal)) {
        for (const part of parts) if (part.type === 'text') text += part.text;
        if (text === 'Hel') {
          given.clock.advance(5_000);
          gate.open();
        }
      }
      expect(text).toBe('Hello');
    });
  });

  describe('Model abort', () => {
    const reason = new Error('cancelled by a test');

    it('sends no request when the signal is already aborted', async () => {
      expect(await given.run(question, {}, AbortSignal.abort(reason)).failure()).toBe(reason);
      expect(given.server.requests).toHaveLength(0);
    });

    it('closes the connection while it waits for the response', async () => {
      const abort = new AbortController();
      given.server.enqueue({ body: [], end: 'hang' });
      const call = given.run(question, {}, abort.signal);
      const request = await given.server.request(1);
      abort.abort(reason);
      expect(await call.failure()).toBe(reason);
      await request.settled;
      expect(request.aborted).toBe(true);
    });

    it('closes the connection in the middle of the response', async () => {
      const abort = new AbortController();
      given.server.enqueue({ body: [script.textChunk('Hel')], end: 'hang' });
      const call = given.run(question, {}, abort.signal);
      await until('the text is there', () => call.seen.length === 1);
      abort.abort(reason);
      expect(await call.failure()).toBe(reason);
      await (
        await given.server.request(1)
      ).settled;
      expect((await given.server.request(1)).aborted).toBe(true);
    });

    it('closes the connection when the consumer leaves', async () => {
      given.server.enqueue({ body: [script.textChunk('Hel')], end: 'hang' });
      for await (const parts of given.model().stream(question, new AbortController().signal)) {
        expect(parts).toEqual([{ type: 'text', text: 'Hel' }]);
        break;
      }
      await (
        await given.server.request(1)
      ).settled;
      expect((await given.server.request(1)).aborted).toBe(true);
    });
  });
}
