import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';

import { ask, type OpenAiStage, openAiStage } from '../harness/openai-stage.js';
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
