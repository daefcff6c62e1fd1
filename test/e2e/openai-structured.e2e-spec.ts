import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { type OpenAiStage, openAiStage } from '../harness/openai-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;
let client: OpenAI;

beforeAll(async () => {
  stage = await openAiStage({ STARTS_PER_MINUTE: '1000' });
  client = new OpenAI({ baseURL: `${stage.test.url}/v1`, apiKey: stage.owner.key, maxRetries: 0 });
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

const City = z.object({ city: z.string(), degrees: z.number().nullable() });
const question = [{ role: 'user' as const, content: 'Rome?' }];
const answer = '{"city":"Rome","degrees":30}';

describe('structured output of the OpenAI client', () => {
  it('is parsed by the zod helper for response formats', async () => {
    stage.model.enqueue(textReply([answer]));
    const format = { response_format: zodResponseFormat(City, 'city') };
    const { choices } = await client.chat.completions.parse({ model: 'helper', messages: question, ...format });
    expect(choices[0]?.message.parsed).toEqual({ city: 'Rome', degrees: 30 });
  });

  it('by a forced function that is never continued starts any number of runs, with and without a session', async () => {
    const tools = [zodFunction({ name: 'give_city', parameters: City })];
    const tool_choice = { type: 'function' as const, function: { name: 'give_city' } };
    for (const headers of [{}, { 'X-Session-Id': 'forced' }, { 'X-OpenWebUI-Chat-Id': 'forced' }])
      for (let n = 0; n < 8; n++) {
        stage.model.enqueue(toolCallReply([{ id: 'call_0', name: 'give_city', arguments: answer }]));
        const body = { model: 'helper', messages: question, tools, tool_choice };
        const { choices } = await client.chat.completions.parse(body, { headers });
        expect(choices[0]?.message.tool_calls).toMatchObject([
          { function: { parsed_arguments: { city: 'Rome', degrees: 30 } } },
        ]);
      }
    stage.model.enqueue(textReply(['Warm.']));
    const plain = { model: 'helper', messages: question };
    const { choices } = await client.chat.completions.create(plain, { headers: { 'X-Session-Id': 'forced' } });
    expect(choices[0]?.message.content).toBe('Warm.');
  });
});
