import { describe, expect, it } from '@jest/globals';

import * as script from '../harness/scripted-reply.js';
import { until } from '../harness/until.js';
import { finish, KEY, type ModelFixture, question } from './model-fixture.js';

const tool = { type: 'function', function: { name: 'one', description: 'd', parameters: { type: 'object' } } } as const;

/** What a model asks for, and what it makes of a good answer. */
export function describeAnswers(given: ModelFixture): void {
  describe('Model requests', () => {
    it('request a stream with usage, and send key, model and messages', async () => {
      given.server.enqueue(script.textReply(['Hi']));
      await given.run().done;

      const request = await given.server.request(1);
      expect(request).toMatchObject({ method: 'POST', path: '/v1/chat/completions' });
      expect(request.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'content-type': 'application/json' });
      expect(request.json).toEqual({
        model: 'm-1',
        messages: question.messages,
        stream: true,
        stream_options: { include_usage: true },
      });
    });

    it('send tools, tool choice and all sampling fields without replacing ours', async () => {
      given.server.enqueue(script.textReply(['Hi']));
      const parameters = {
        temperature: 0,
        seed: 7,
        max_tokens: 5,
        parallel_tool_calls: false,
        top_k: 3,
        stream: false,
        model: 'x',
        n: 4,
      };
      await given.run({ ...question, tools: [tool], toolChoice: 'required', parameters }).done;

      const { json } = await given.server.request(1);
      expect(json).toMatchObject({
        model: 'm-1',
        stream: true,
        tools: [tool],
        tool_choice: 'required',
        parallel_tool_calls: false,
      });
      expect(json).toMatchObject({ temperature: 0, seed: 7, max_tokens: 5, top_k: 3 });
      expect(json).not.toHaveProperty('n');
    });

    it('send no tool field when no tool is offered', async () => {
      given.server.enqueue(script.textReply(['Hi']));
      await given.run({ ...question, tools: [], toolChoice: 'required', parameters: { parallel_tool_calls: true } })
        .done;

      expect(Object.keys((await given.server.request(1)).json).sort()).toEqual([
        'messages',
        'model',
        'stream',
        'stream_options',
      ]);
    });

    it('repeat without stream_options when a server refuses them', async () => {
      given.server.enqueue(
        script.errorReply(400, { error: { message: 'Unrecognized argument: stream_options' } }),
        script.textReply(['Hi'], { usage: null }),
      );
      const parts = await given.run().done;

      expect(parts.at(-1)).toMatchObject({ usage: { estimated: true } });
      expect((await given.server.request(2)).json).not.toHaveProperty('stream_options');
    });
  });

  describe('Model responses', () => {
    it('yield text, then the finish with its usage', async () => {
      given.server.enqueue(script.textReply(['Hel', 'lo ', 'ä😀']));
      expect(await given.run().done).toEqual([{ type: 'text', text: 'Hello ä😀' }, finish]);
    });

    it('yield text while the server is still writing', async () => {
      const gate = script.createGate();
      given.server.enqueue({
        body: [script.textChunk('one'), gate, script.textChunk('two'), script.finishChunk('stop'), script.doneLine],
      });
      const call = given.run();
      await until('the first text is there', () => call.seen.length === 1);
      gate.open();
      expect((await call.done)[0]).toEqual({ type: 'text', text: 'onetwo' });
    });

    it('yield assembled tool calls once, after the text', async () => {
      const calls = [
        { id: 'a', name: 'one', arguments: '{"x":1}' },
        { id: 'b', name: 'two', arguments: '' },
      ];
      given.server.enqueue(script.toolCallReply(calls, { text: 'Let me see.' }));
      expect(await given.run().done).toEqual([
        { type: 'text', text: 'Let me see.' },
        { type: 'tool-calls', calls: [{ callId: 'a', name: 'one', arguments: '{"x":1}' }, { callId: 'b', name: 'two', arguments: '{}' }] },
        { ...finish, finishReason: 'tool_calls' },
      ]); // prettier-ignore
    });

    it('parse alike when every byte arrives alone, with CRLF, comments and no last line end', async () => {
      const reply = script.textReply(['Hel', 'lo ä😀', '"\\\n']);
      const wire = `\uFEFF: hello\n\n${reply.body.map(String).join(': again\n')}`.replaceAll('\n', '\r\n').trimEnd();
      given.server.enqueue({ body: [...Buffer.from(wire)].map((byte) => Buffer.of(byte)) });
      expect(await given.run().done).toEqual([{ type: 'text', text: 'Hello ä😀"\\\n' }, finish]);
    });

    it('accept a response whose [DONE] or usage is missing', async () => {
      given.server.enqueue({ body: [script.textChunk('Hello'), script.finishChunk('stop')] });
      expect(await given.run().done).toEqual([
        { type: 'text', text: 'Hello' },
        expect.objectContaining({ usage: expect.objectContaining({ estimated: true }) }),
      ]);
    });

    it('accept a response whose connection breaks or stalls after its finish reason', async () => {
      const body = [script.textChunk('Hello'), script.finishChunk('stop')];
      given.server.enqueue({ body, end: 'destroy' }, { body, end: 'hang' });
      expect(await given.run().done).toHaveLength(2);
      const silent = given.run();
      await until('the text is there', () => silent.seen.length === 1);
      given.clock.advance(30_000);
      expect(await silent.done).toHaveLength(2);
    });

    it('accept a server that does not stream', async () => {
      const answer = {
        choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }],
        usage: script.defaultUsage,
      };
      given.server.enqueue({
        headers: { 'content-type': 'application/json' },
        body: [JSON.stringify(answer, null, 2)],
      });
      expect(await given.run().done).toEqual([{ type: 'text', text: 'Hello' }, finish]);
    });

    it('keep many concurrent responses apart', async () => {
      given.server.answer((request) =>
        script.textReply(Array.from({ length: 20 }, () => String(request.json['model']))),
      );
      const all = await Promise.all(
        Array.from({ length: 30 }, (_, index) => given.run({ ...question, model: `<${index}>` }).done),
      );
      all.forEach((parts, index) => {
        expect(parts[0]).toEqual({ type: 'text', text: `<${index}>`.repeat(20) });
      });
    });

    it('reuse the connection for the next response', async () => {
      const connected = given.model();
      for (let round = 0; round < 3; round++) {
        given.server.enqueue(script.textReply(['Hi']));
        for await (const parts of connected.stream(question, new AbortController().signal))
          expect(parts.length).toBeGreaterThan(0);
        await new Promise((resolve) => setImmediate(resolve)); // undici takes a turn to see that the server keeps it open
      }
      expect(given.server.connections).toBe(1);
    });

    it('apply backpressure: a slow consumer slows the server down', async () => {
      const text = 'x'.repeat(65_536);
      given.server.enqueue(script.textReply(Array.from({ length: 400 }, () => text)));
      let isSettled = false;
      let length = 0;
      for await (const parts of given.model().stream(question, new AbortController().signal)) {
        if (length === 0) {
          const request = await given.server.request(1);
          void request.settled.then(() => (isSettled = true));
          for (let turn = 0; turn < 2_000; turn++) await new Promise((resolve) => setImmediate(resolve));
          expect(isSettled).toBe(false);
        }
        for (const part of parts) if (part.type === 'text') length += part.text.length;
      }
      expect(length).toBe(400 * text.length);
    });
  });
}
