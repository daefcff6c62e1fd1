import { describe, expect, it } from '@jest/globals';

import { ScriptedModel } from '../harness/scripted-model.js';
import * as script from '../harness/scripted-reply.js';
import { KEY, type ModelFixture, question } from './model-fixture.js';

/** How a model fails, and when it asks again. */
export function describeFailures(given: ModelFixture): void {
  describe('Model failures', () => {
    it.each([
      [400, 'model_bad_request'],
      [401, 'model_unauthorized'],
      [404, 'model_bad_request'],
    ])('fail at once on status %i', async (status, code) => {
      given.server.enqueue(script.errorReply(status));
      expect(await given.run().failure()).toMatchObject({ code, status, retryable: false, afterFirstByte: false });
    });

    it('never show the key and quote at most 200 characters of the provider', async () => {
      given.server.enqueue(script.errorReply(401, { error: { message: `Incorrect key ${KEY} ${'x'.repeat(5_000)}` } }));
      const error = await given.run().failure();
      expect(JSON.stringify([error, error.message, error.stack])).not.toContain(KEY);
      expect(String(error.details['providerText'])).toHaveLength(200);
    });

    it('fail on an endless error body', async () => {
      given.server.enqueue({ status: 400, body: Array.from({ length: 100 }, () => 'x'.repeat(10_000)), end: 'hang' });
      expect(await given.run().failure()).toMatchObject({ code: 'model_bad_request' });
    });

    it('fail instead of following a redirect', async () => {
      given.server.enqueue({ status: 302, headers: { location: given.server.url }, body: [] });
      expect(await given.run().failure()).toMatchObject({ code: 'model_bad_request', status: 302 });
      expect(given.server.requests).toHaveLength(1);
    });

    it.each([
      ['an error object', { error: { message: 'overloaded', code: 503 } }, 'model_unavailable'],
      ['an error text', { error: 'no' }, 'model_error'],
      ['broken JSON', '{"a":', 'model_stream_broken'],
      ['a bare number', '17', 'model_stream_broken'],
    ])(
      'fail on %s inside the stream, after the text that came before it, without asking again',
      async (_, payload, code) => {
        given.server.enqueue({
          body: [script.textChunk('Hel'), script.dataLine(payload), script.textChunk('lo'), script.doneLine],
        });
        const call = given.run();
        expect(await call.failure()).toMatchObject({ code, afterFirstByte: true });
        expect(call.seen).toEqual([{ type: 'text', text: 'Hel' }]);
        expect(given.server.requests).toHaveLength(1);
      },
    );

    it.each([
      ['the socket breaks', 'destroy'],
      ['the body ends', 'clean'],
    ] as const)('fail when %s in the middle of the stream, and never report a complete response', async (_, end) => {
      given.server.enqueue({ body: [script.textChunk('Hel')], end });
      const call = given.run();
      expect(await call.failure()).toMatchObject({
        code: 'model_stream_broken',
        retryable: true,
        afterFirstByte: true,
      });
      expect(call.seen).toEqual([{ type: 'text', text: 'Hel' }]);
      expect(given.server.requests).toHaveLength(1);
    });

    it('fail on an encoding that was not requested', async () => {
      given.server.enqueue({ headers: { 'content-encoding': 'gzip' }, body: ['\u001f'], end: 'hang' });
      expect(await given.run().failure()).toMatchObject({ code: 'model_stream_broken' });
    });

    it.each([
      ['a line', { maxLineBytes: 1_000 }, { body: ['data: "', 'x'.repeat(2_000)], end: 'hang' }],
      [
        'a document',
        { maxLineBytes: 1_000 },
        { headers: { 'content-type': 'application/json' }, body: ['{"a":"', 'x'.repeat(2_000)], end: 'hang' },
      ],
      [
        'a stream',
        { maxStreamBytes: 1_000 },
        { body: Array.from({ length: 100 }, () => script.textChunk('x'.repeat(100))), end: 'hang' },
      ],
      [
        'arguments',
        { maxArgumentsLength: 100 },
        { body: [script.callChunk({ id: 'a', function: { arguments: 'x'.repeat(101) } })], end: 'hang' },
      ],
      ['too many calls', { maxToolCalls: 1 }, { body: [script.callChunk({ id: 'a' }, { id: 'b' })], end: 'hang' }],
    ] as const)('fail on %s over the limit and close the connection', async (_, limits, reply) => {
      given.server.enqueue(reply);
      expect(await given.run(question, { limits }).failure()).toMatchObject({
        code: 'model_answer_too_large',
        retryable: false,
      });
      await (
        await given.server.request(1)
      ).settled;
    });

    it('fail when no server listens on the port', async () => {
      const closed = await ScriptedModel.start();
      const { url } = closed;
      await closed.close();
      const error = await given.run(question, { baseUrl: url }).failure();
      expect(error).toMatchObject({ code: 'model_connection_refused', retryable: true, afterFirstByte: false });
    });
  });

  describe('Model failures before the first byte', () => {
    it.each<[string, script.Reply, string]>([
      ['429', script.errorReply(429), 'model_rate_limited'],
      ['503', script.errorReply(503), 'model_unavailable'],
      ['a connection that breaks', { body: [], end: 'destroy' }, 'model_unavailable'],
      ['an empty response', { body: [] }, 'model_stream_broken'],
    ])('leave the retry to the caller: %s', async (_, reply, code) => {
      given.server.enqueue(reply);
      expect(await given.run().failure()).toMatchObject({ code, retryable: true, afterFirstByte: false });
      expect(given.server.requests).toHaveLength(1);
    });

    it.each([
      ['seconds', () => '7', 7],
      ['a date', (now: number) => new Date(now + 5_000).toUTCString(), 5],
      ['an absurd number, up to a day', () => '9999999', 86_400],
    ])('pass retry-after to the caller: %s', async (_, header, retryAfterSeconds) => {
      given.server.enqueue(script.errorReply(429, undefined, { 'retry-after': header(given.clock.now()) }));
      expect(await given.run().failure()).toMatchObject({ code: 'model_rate_limited', retryAfterSeconds });
    });
  });
}
