import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

import { ask, type OpenAiStage, openAiStage } from '../harness/openai-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

const helper = () =>
  new ChatOpenAI({ model: 'helper', apiKey: stage.owner.key, configuration: { baseURL: `${stage.test.url}/v1` } });
const weather = tool(({ city }: { city: string }) => `${city.length} degrees in ${city}`, {
  ...{ name: 'get_weather', description: 'Weather of a city', schema: z.object({ city: z.string() }) },
});

describe('LangChain client', () => {
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
