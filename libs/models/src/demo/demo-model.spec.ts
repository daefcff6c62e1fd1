import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { systemClock } from '#platform';

import type { ChatMessage, ModelPart, ModelRequest, ToolDefinition } from '../model/model.js';
import { createModelAgent, createOpenAiModel } from '../openai-model.js';
import { type DemoModel, startDemoModel } from './demo-model.js';

const tools = ['get_current_time', 'calculate'].map((name): ToolDefinition => ({
  type: 'function',
  function: { name, parameters: {} },
}));
const question = 'What time is it in Tokyo, and what is 17 * 23?';

describe('the demo model', () => {
  const dispatcher = createModelAgent();
  let demo: DemoModel;

  beforeAll(async () => {
    demo = await startDemoModel({ chunkDelayMs: 0 });
  });

  afterAll(async () => {
    await demo.close();
    await dispatcher.destroy();
  });

  async function ask(
    content: string,
    more: Partial<ModelRequest> = {},
    before: readonly ChatMessage[] = [],
  ): Promise<ModelPart[]> {
    const model = createOpenAiModel({ baseUrl: demo.url, apiKey: null }, { clock: systemClock, dispatcher });
    const parts: ModelPart[] = [];
    const messages: ChatMessage[] = [{ role: 'user', content }, ...before];
    for await (const batch of model.stream({ model: demo.modelName, messages, ...more }, new AbortController().signal))
      parts.push(...batch);
    return parts;
  }

  const textOf = (parts: readonly ModelPart[]) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

  it('calls both tools at once, then answers with their results', async () => {
    const [asked, end] = await ask(question, { tools });
    expect(asked).toMatchObject({ type: 'tool-calls', calls: [{ name: 'get_current_time' }, { name: 'calculate' }] });
    expect(end).toMatchObject({ type: 'finish', finishReason: 'tool_calls', usage: { estimated: false } });

    const calls = asked?.type === 'tool-calls' ? asked.calls : [];
    const answer = await ask(question, { tools }, [
      {
        role: 'assistant',
        content: null,
        tool_calls: calls.map(({ callId, name, arguments: text }) => ({
          id: callId,
          type: 'function',
          function: { name, arguments: text },
        })),
      },
      ...calls.map(({ callId }, index): ChatMessage => ({
        role: 'tool',
        tool_call_id: callId,
        content: `result ${index}`,
      })),
    ]);
    expect(textOf(answer)).toContain('get_current_time says: result 0');
    expect(textOf(answer)).toContain('calculate says: result 1');
    expect(answer.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop', usage: { estimated: false } });
  });

  it('identifies itself as rule-based in its name and in every text', async () => {
    expect(demo.modelName).toBe('nightshift-demo');
    for (const text of ['Hello', question, 'use tool nope'])
      expect(textOf(await ask(text))).toContain('rule-based stand-in');
    expect(textOf(await ask('Hi', {}, [{ role: 'tool', tool_call_id: 'x', content: 'y' }]))).toContain(
      'rule-based stand-in',
    );
  });

  it('follows the tool choice', async () => {
    const calculate = { type: 'function', function: { name: 'calculate' } } as const;
    expect((await ask(question, { tools, toolChoice: 'none' }))[0]?.type).toBe('text');
    expect((await ask(question, { tools, toolChoice: calculate }))[0]).toMatchObject({
      calls: [{ name: 'calculate' }],
    });
    expect((await ask('Hello', { tools, toolChoice: 'required' }))[0]).toMatchObject({
      calls: [{ name: 'get_current_time' }],
    });
    expect((await ask(question, { tools, parameters: { parallel_tool_calls: false } }))[0]).toMatchObject({
      calls: [{ name: 'get_current_time' }],
    });
  });

  it('responds without a stream when the request has no `stream`', async () => {
    const response = await fetch(`${demo.url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({
        model: 'any',
        messages: [{ role: 'user', content: [{ type: 'text', text: '2 + 2' }] }],
        tools,
      }),
    });
    expect(await response.json()).toMatchObject({
      object: 'chat.completion',
      model: 'nightshift-demo',
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            content: null,
            tool_calls: [{ function: { name: 'calculate', arguments: '{"expression":"2 + 2"}' } }],
          },
        },
      ],
      usage: { total_tokens: expect.any(Number) },
    });
  });

  it('sends the usage in a stream only on request', async () => {
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], stream: true });
    const text = await (await fetch(`${demo.url}/chat/completions`, { method: 'POST', body })).text();
    expect(text).not.toContain('usage');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('lists its one model', async () => {
    const response = await fetch(`${demo.url}/models`);
    expect(await response.json()).toMatchObject({ object: 'list', data: [{ id: 'nightshift-demo', object: 'model' }] });
  });

  it.each([
    ['POST', '/chat/completions', 'not json', 400],
    ['POST', '/chat/completions', '{}', 400],
    ['POST', '/chat/completions', '{"messages":[]}', 400],
    ['GET', '/chat/completions', undefined, 405],
    ['GET', '/nowhere', undefined, 404],
  ])("refuses %s %s with %s in OpenAI's envelope", async (...[method, path, body, status]) => {
    const response = await fetch(demo.url + path, { method, ...(body === undefined ? {} : { body }) });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { message: expect.any(String), type: 'invalid_request_error', code: null },
    });
  });

  it('stops writing when the client leaves, and closes in the middle of an answer', async () => {
    const slow = await startDemoModel({ chunkDelayMs: 60_000 });
    const leaving = new AbortController();
    const asking = fetch(`${slow.url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], stream: true }),
      signal: leaving.signal,
    });
    await Promise.race([asking, new Promise((resolve) => setImmediate(resolve))]);
    leaving.abort();
    await asking.catch(() => undefined);
    await slow.close();
    await slow.close();
  });
});
