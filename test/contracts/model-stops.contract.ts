import { describe, expect, it } from '@jest/globals';

import * as script from '../harness/scripted-reply.js';
import { until } from '../harness/until.js';
import { type ModelFixture, question } from './model-fixture.js';

/** How long a model waits, and how it stops. */
export function describeStops(given: ModelFixture): void {
  describe('waits', () => {
    it.each([
      ['no header comes', { before: script.createGate() }],
      ['headers come and no byte', {}],
    ])('for the first byte as long as told: %s', async (_, reply) => {
      given.server.enqueue({ ...reply, body: [], end: 'hang' });
      const call = given.run(question, { retries: 0, firstByteTimeoutMs: 500 });
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

    it('between two reads as long as told', async () => {
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

    it('without end for its own consumer', async () => {
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

  describe('stops', () => {
    const reason = new Error('cancelled by a test');

    it('before it asked', async () => {
      expect(await given.run(question, {}, AbortSignal.abort(reason)).failure()).toBe(reason);
      expect(given.server.requests).toHaveLength(0);
    });

    it('while it waits for the answer, and hangs up', async () => {
      const abort = new AbortController();
      given.server.enqueue({ body: [], end: 'hang' });
      const call = given.run(question, {}, abort.signal);
      const request = await given.server.request(1);
      abort.abort(reason);
      expect(await call.failure()).toBe(reason);
      await request.settled;
      expect(request.aborted).toBe(true);
    });

    it('in the middle of the answer, and hangs up', async () => {
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

    it('while a retry waits', async () => {
      const abort = new AbortController();
      given.server.enqueue(script.errorReply(503));
      const call = given.run(question, {}, abort.signal);
      await (
        await given.server.request(1)
      ).settled;
      await until('the retry waits', () => given.clock.asked.at(-1) === 1_000);
      abort.abort(reason);
      expect(await call.failure()).toBe(reason);
      expect(given.server.requests).toHaveLength(1);
    });

    it('when the consumer leaves, and hangs up', async () => {
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
