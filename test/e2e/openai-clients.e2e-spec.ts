import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';

import { chunksOf, contentOf } from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;
const cities: string[] = [];

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

const helper = () =>
  createOpenAICompatible({ name: 'nightshift', baseURL: `${stage.test.url}/v1`, apiKey: stage.owner.key })('helper');
const tools = {
  get_weather: tool({
    description: 'Weather of a city',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => {
      cities.push(city);
      return { city, degrees: city.length };
    },
  }),
};
const playTwoRounds = () => {
  cities.length = 0;
  stage.model.enqueue(
    toolCallReply([ask('call_1', 'Rome'), ask('call_2', 'Oslo')], { text: 'Looking.' }),
    toolCallReply([ask('call_3', 'Bonn')]),
    textReply(['Warm ', 'enough.']),
  );
};

describe('AI SDK client', () => {
  it('generates text', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const { text, finishReason, usage } = await generateText({ model: helper(), prompt: 'Hi' });
    expect([text, finishReason, usage.totalTokens]).toEqual(['Hello there', 'stop', 18]);
  });

  it('streams text', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const result = streamText({ model: helper(), instructions: 'Be kind.', prompt: 'Hi' });
    let text = '';
    for await (const piece of result.textStream) text += piece;
    expect(text).toBe('Hello there');
    expect(stage.model.requests.at(-1)?.json['messages']).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Hi' },
    ]);
  });

  it('runs its tools while it streams, several at once and in several steps', async () => {
    playTwoRounds();
    const result = streamText({ model: helper(), prompt: 'Weather?', tools, stopWhen: isStepCount(5) });
    const types: string[] = [];
    for await (const { type } of result.stream) types.push(type);
    expect(types).not.toContain('error');
    expect(await result.text).toBe('Warm enough.');
    expect(cities).toEqual(['Rome', 'Oslo', 'Bonn']);
    const steps = await result.steps;
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'tool-calls', 'stop']);
    expect(steps.map(({ toolCalls }) => toolCalls.map(({ toolCallId }) => toolCallId))).toEqual([
      ['call_1', 'call_2'],
      ['call_3'],
      [],
    ]);
  });

  it('runs its tools without streaming', async () => {
    playTwoRounds();
    const { text, steps } = await generateText({
      model: helper(),
      prompt: 'Weather?',
      tools,
      stopWhen: isStepCount(5),
    });
    expect([text, steps.length, cities]).toEqual(['Warm enough.', 3, ['Rome', 'Oslo', 'Bonn']]);
  });
});

describe('curl as an OpenAI client', () => {
  /** As an example of the docs does it: `-d` and two headers. */
  async function curl(body: object, ...flags: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)('curl', [
      ...['-sS', '--max-time', '240', `${stage.test.url}/v1/chat/completions`],
      ...['-H', `Authorization: Bearer ${stage.owner.key}`, '-H', 'Content-Type: application/json'],
      ...['-d', JSON.stringify(body), ...flags],
    ]);
    return stdout;
  }

  it('gets a completion', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    expect(JSON.parse(await curl(plain('Hi')))).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'Hello there' }, finish_reason: 'stop' }],
    });
  });

  it('gets a stream', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const text = await curl(plain('Hi', { stream: true }), '-N');
    expect(contentOf(text)).toBe('Hello there');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('receives tool calls and continues with their results', async () => {
    const call = ask('call_1', 'Rome');
    stage.model.enqueue(toolCallReply([call]), textReply(['Warm.']));
    const paused = chunksOf(await curl(withTools([user('Weather?')], { stream: true }), '-N'));
    expect(paused.at(-1)?.['choices']).toMatchObject([{ finish_reason: 'tool_calls' }]);
    const went = await curl(withTools([user('Weather?'), called(call), result('call_1', '30')]), '-i');
    expect(went).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(went).toContain('"content":"Warm."');
  });

  it('reads the error of an invalid request', async () => {
    const refused = await curl(plain('Hi', { model: 'unknown' }), '-i');
    expect(refused).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
    const { error } = JSON.parse(refused.slice(refused.indexOf('{'))) as { error: unknown };
    const message = "Model 'unknown' not found";
    expect(error).toEqual({ message, type: 'invalid_request_error', param: 'model', code: 'model_not_found' });
  });
});

describe('LangChain client', () => {
  const helper = () =>
    new ChatOpenAI({ model: 'helper', apiKey: stage.owner.key, configuration: { baseURL: `${stage.test.url}/v1` } });
  const weather = langchainTool(({ city }: { city: string }) => `${city.length} degrees in ${city}`, {
    ...{ name: 'get_weather', description: 'Weather of a city', schema: z.object({ city: z.string() }) },
  });

  it('invokes a chat model', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const answer = await helper().invoke('Hi');
    expect(answer).toMatchObject({ content: 'Hello there', usage_metadata: { total_tokens: 18 } });
  });

  it('streams a chat model', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    let text = '';
    for await (const { content } of await helper().stream('Hi')) text += typeof content === 'string' ? content : '';
    expect(text).toBe('Hello there');
  });

  it('runs its tools until the model answers', async () => {
    stage.model.enqueue(
      toolCallReply([ask('call_1', 'Rome'), ask('call_2', 'Oslo')]),
      toolCallReply([ask('call_3', 'Bonn')]),
      textReply(['Warm enough.']),
    );
    const model = helper().bindTools([weather]);
    const messages: BaseMessage[] = [new HumanMessage('Weather?')];
    let answer = await model.invoke(messages);
    while ((answer.tool_calls ?? []).length > 0) {
      messages.push(answer);
      for (const call of answer.tool_calls ?? []) {
        const result: unknown = await weather.invoke(call);
        if (!(result instanceof ToolMessage)) throw new Error('no tool message');
        messages.push(result);
      }
      answer = await model.invoke(messages);
    }
    expect(answer.content).toBe('Warm enough.');
    expect(messages.filter((message) => message instanceof AIMessage)).toHaveLength(2);
    expect(stage.model.requests.at(-1)?.json['messages']).toMatchObject([
      ...[{ role: 'system' }, { role: 'user' }, { role: 'assistant' }],
      { role: 'tool', tool_call_id: 'call_1', content: '4 degrees in Rome' },
      { role: 'tool', tool_call_id: 'call_2', content: '4 degrees in Oslo' },
      { role: 'assistant' },
      { role: 'tool', tool_call_id: 'call_3', content: '4 degrees in Bonn' },
    ]);
  });
});

describe('POST /v1/chat/completions', () => {
  it('returns a whole response of a job that GraphQL can read', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const reply = await stage.client.ask(plain('hi'));
    expect(reply.json).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{12}$/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'helper',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello there', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    });
    expect(reply.status).toBe(200);
    const status = await stage.test.call('GET', `/api/jobs/${String(reply.headers['x-job-id'])}/status`, {
      key: stage.owner.key,
    });
    expect(status.body).toMatchObject({ content: 'Hello there' });
  });

  it('streams chunks and nothing else', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const reply = await stage.client.ask(plain('hi', { stream: true, stream_options: { include_usage: true } }));
    expect(reply.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-job-id': expect.any(String),
      'x-request-id': expect.any(String),
    });
    expect(reply.text.split('\n\n').filter((line) => !/^(data: |: )/.test(line))).toEqual(['']);
    expect(reply.text.startsWith('data: ')).toBe(true);
    expect(reply.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(contentOf(reply.text)).toBe('Hello there');
  });

  it('pauses for tools of the client and continues with their results', async () => {
    stage.model.enqueue(toolCallReply([ask('call_a', 'Rome'), ask('call_b', 'Oslo')], { text: 'Let me see.' }));
    const first = await stage.client.ask(withTools([user('weather?')], { stream: true }));
    const chunks = chunksOf(first.text);
    expect(chunks.slice(-3).map((chunk) => chunk['choices'])).toMatchObject([
      [{ delta: { tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'get_weather' } }] } }],
      [{ delta: { tool_calls: [{ index: 1, id: 'call_b' }] } }],
      [{ delta: {}, finish_reason: 'tool_calls' }],
    ]);
    stage.model.enqueue(textReply(['Warm and cold.']));
    const second = await stage.client.ask(
      withTools([
        user('weather?'),
        called(ask('call_a', 'Rome'), ask('call_b', 'Oslo')),
        result('call_b', '-3'),
        result('call_a', '30'),
      ]),
    );
    expect(second.json).toMatchObject({ choices: [{ message: { content: 'Warm and cold.' }, finish_reason: 'stop' }] });
    expect(second.headers['x-job-id']).toBe(first.headers['x-job-id']);
    expect(stage.model.requests.at(-1)?.json['messages']).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user' },
      { role: 'assistant', content: 'Let me see.' },
      { role: 'tool', tool_call_id: 'call_a', content: '30' },
      { role: 'tool', tool_call_id: 'call_b', content: '-3' },
    ]);
  });
});
