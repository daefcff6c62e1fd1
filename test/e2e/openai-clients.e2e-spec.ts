import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, isStepCount, streamText, tool } from 'ai';
import OpenAI, { BadRequestError, NotFoundError } from 'openai';
import { z } from 'zod';

import { ask, type OpenAiStage, openAiStage } from '../harness/openai-stage.js';
import { textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';

/** The official client as it is installed, with nothing but its address and a key. */
let client: OpenAI;
let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
  client = new OpenAI({ baseURL: `${stage.test.url}/v1`, apiKey: stage.owner.key });
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

const hi = [{ role: 'user', content: 'Hi' }] as const;
const plain = { model: 'helper', messages: [...hi] };
const jobs = async (): Promise<readonly { readonly id: string; readonly status: string }[]> => {
  const { workspaceId } = stage.owner.principal;
  const read = 'SELECT id, status FROM job WHERE workspace_id = $1 ORDER BY id';
  return stage.database.postgres.readInWorkspace(workspaceId, { name: 'all-jobs', text: read, values: [workspaceId] });
};
/** Messages as the model was sent them by request `n` from the end. */
const asked = (n = 1) => stage.model.requests.at(-n)?.json['messages'];

describe('OpenAI client', () => {
  it('creates a completion', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const { data, response, request_id } = await client.chat.completions.create(plain).withResponse();
    expect(data.choices[0]?.message).toMatchObject({ role: 'assistant', content: 'Hello there' });
    expect(data.usage).toEqual({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 });
    expect(response.headers.get('x-job-id')).toBe((await jobs()).at(-1)?.id);
    expect(request_id).toBe(response.headers.get('x-request-id'));
  });

  it('streams a completion', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const stream = await client.chat.completions.create({
      ...plain,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Hello there');
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 18 } });
  });

  it('reads a server tool in the text', async () => {
    stage.model.enqueue(
      toolCallReply([{ id: 'c', name: 'add_numbers', arguments: '{"a":1,"b":2}' }]),
      textReply(['Three.']),
    );
    const { choices } = await client.chat.completions.create(plain);
    expect(choices[0]?.message.content).toBe(
      '<tool id="1" state="start">add_numbers(a=1, b=2)</tool>\n<tool id="1" state="done">add_numbers(a=1, b=2)\n3</tool>\nThree.',
    );
  });

  it('emits the events of its stream helper', async () => {
    stage.model.enqueue(textReply(['Hello ', 'there']));
    const events: string[] = [];
    const runner = client.chat.completions.stream(plain);
    runner.on('chunk', () => events.push('chunk'));
    runner.on('content', (delta) => events.push(delta));
    expect(await runner.finalContent()).toBe('Hello there');
    expect((await runner.finalChatCompletion()).choices[0]?.finish_reason).toBe('stop');
    expect(events.filter((event) => event !== 'chunk').join('')).toBe('Hello there');
    expect(events.filter((event) => event === 'chunk').length).toBeGreaterThanOrEqual(3);
  });

  it('parses responses by a schema', async () => {
    stage.model.enqueue(textReply(['{"sum":', '3}']));
    const schema = {
      type: 'object',
      properties: { sum: { type: 'number' } },
      required: ['sum'],
      additionalProperties: false,
    };
    const format = { type: 'json_schema', json_schema: { name: 'sum', strict: true, schema } } as const;
    const { choices } = await client.chat.completions.parse({ ...plain, response_format: format });
    expect(choices[0]?.message.content).toBe('{"sum":3}');
    expect(stage.model.requests.at(-1)?.json['response_format']).toEqual(format);
  });

  it('throws its own error classes', async () => {
    await expect(client.chat.completions.create({ ...plain, model: 'unknown' })).rejects.toThrow(NotFoundError);
    await expect(client.chat.completions.create({ ...plain, logit_bias: { 1: 1 } })).rejects.toMatchObject({
      ...{ status: 400, code: 'unsupported_parameter', param: 'logit_bias', type: 'invalid_request_error' },
    });
    await expect(client.chat.completions.create({ ...plain, messages: [] })).rejects.toThrow(BadRequestError);
  });

  it('throws when a stream fails in the middle', async () => {
    stage.model.enqueue(...[1, 2, 3].map(() => ({ body: [textChunk('Half')], end: 'destroy' as const })));
    const stream = await client.chat.completions.create({ ...plain, stream: true });
    let text = '';
    const reading = (async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    })();
    await expect(reading).rejects.toMatchObject({ code: 'job_failed' });
    expect(text.startsWith('Half')).toBe(true);
  });
});

describe('OpenAI client runTools', () => {
  const cities: string[] = [];
  const forecasts: string[] = [];
  const parameters = { type: 'object', properties: { city: { type: 'string' } } };
  const city = (text: string) => {
    const read: unknown = JSON.parse(text);
    if (typeof read !== 'object' || read === null || !('city' in read)) throw new Error('no city');
    return { city: String(read.city) };
  };
  const tools = [
    {
      type: 'function' as const,
      function: {
        ...{ name: 'get_weather', description: 'Weather of a city', parameters, parse: city },
        function: (args: { city: string }) => {
          cities.push(args.city);
          return { city: args.city, degrees: args.city.length };
        },
      },
    },
    {
      type: 'function' as const,
      function: {
        ...{ name: 'get_forecast', description: 'Forecast of a city', parameters, parse: city },
        function: async (args: { city: string }) => {
          forecasts.push(args.city);
          return Promise.resolve(`Rain in ${args.city}`);
        },
      },
    },
  ];
  const forecast = (id: string, place: string) => ({
    id,
    name: 'get_forecast',
    arguments: JSON.stringify({ city: place }),
  });
  const playThreeRounds = () => {
    cities.length = 0;
    forecasts.length = 0;
    stage.model.enqueue(
      toolCallReply([ask('call_1', 'Rome'), ask('call_2', 'Oslo')], { text: 'Looking.' }),
      toolCallReply([forecast('call_3', 'Rome')]),
      toolCallReply([{ id: 'call_s', name: 'add_numbers', arguments: '{"a":1,"b":2}' }]),
      toolCallReply([forecast('call_4', 'Oslo'), ask('call_5', 'Bonn')]),
      textReply(['Rain ', 'everywhere.']),
    );
  };
  const assertRounds = () => {
    expect([cities, forecasts]).toEqual([
      ['Rome', 'Oslo', 'Bonn'],
      ['Rome', 'Oslo'],
    ]);
    const results = (asked() as { role: string; tool_call_id?: string; content: unknown }[]).filter(
      ({ role }) => role === 'tool',
    );
    expect(results.map(({ content }) => content)).toEqual([
      '{"city":"Rome","degrees":4}',
      '{"city":"Oslo","degrees":4}',
      'Rain in Rome',
      '3',
      'Rain in Oslo',
      '{"city":"Bonn","degrees":4}',
    ]);
    // The provider repeats its ids in the next conversation; clients are given others then.
    expect(new Set(results.map((message) => message.tool_call_id)).size).toBe(6);
  };

  it('runs three rounds of parallel calls in one job', async () => {
    playThreeRounds();
    const before = await jobs();
    const runner = client.chat.completions.runTools({ ...plain, messages: [...hi], tools });
    expect(await runner.finalContent()).toBe('Rain everywhere.');
    assertRounds();
    expect(await jobs()).toHaveLength(before.length + 1);
    expect((await jobs()).at(-1)?.status).toBe('completed');
    expect(await runner.totalUsage()).toMatchObject({ prompt_tokens: 55, completion_tokens: 35, total_tokens: 90 });
  });

  it('streams three rounds of parallel calls in one job', async () => {
    playThreeRounds();
    const before = await jobs();
    const chunks: unknown[] = [];
    const runner = client.chat.completions.runTools({ ...plain, messages: [...hi], tools, stream: true });
    runner.on('chunk', (chunk) => chunks.push(chunk));
    const messages: string[] = [];
    runner.on('message', ({ role }) => messages.push(role));
    expect(await runner.finalContent()).toBe('Rain everywhere.');
    assertRounds();
    expect(await jobs()).toHaveLength(before.length + 1);
    expect(messages).toEqual([
      'assistant',
      'tool',
      'tool',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'tool',
      'assistant',
    ]);
    expect(chunks.length).toBeGreaterThan(8);
  });

  it('starts a new run for a history that contains tool calls', async () => {
    playThreeRounds();
    const runner = client.chat.completions.runTools({ ...plain, messages: [...hi], tools });
    await runner.done();
    stage.model.enqueue(toolCallReply([ask('call_6', 'Bern')]), textReply(['Sun.']));
    const next = client.chat.completions.runTools({
      ...{ model: 'helper', tools },
      messages: [...runner.messages, { role: 'user', content: 'And Bern?' }],
    });
    expect(await next.finalContent()).toBe('Sun.');
    expect(cities.at(-1)).toBe('Bern');
  });
});

describe('AI SDK client', () => {
  const cities: string[] = [];
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
