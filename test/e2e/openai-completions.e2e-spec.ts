import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { AgentsService } from '#chat';
import { EventFeed } from '#jobs';

import { OpenStreams } from '../../apps/api/src/streams/open-streams.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { chunksOf, type CompletionsDoor, completionsDoor, contentOf } from '../harness/openai-door.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let database: TestDatabase;
let model: ScriptedModel;
let test: TestApi;
let owner: TestMember;
let door: CompletionsDoor;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  const env = { MODEL_BASE_URL: model.url, MODEL_RETRIES: '0', DELTA_FLUSH_MS: '5' };
  test = await startTestApi(database, { env });
  ({ owner } = await test.people.workspaceOf('completions'));
  await test.api.app.get(AgentsService).create(owner.principal, {
    name: 'Helper',
    instructions: 'Be brief.',
    tools: ['add_numbers'],
  });
  door = completionsDoor(test.url, owner.key);
});
afterEach(async () => {
  model.assertDone();
  await eventually('all answers are told', () => (test.api.app.get(OpenStreams).size === 0 ? true : undefined));
  await eventually('all tails are gone', () => (test.api.app.get(EventFeed).tails === 0 ? true : undefined));
});
afterAll(async () => {
  await test.close();
  await model.close();
  await database.close();
});

const user = (content: string) => ({ role: 'user', content });
const say = (content: string, more: object = {}) => ({ model: 'helper', messages: [user(content)], ...more });
const weather = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};
const call = (id: string, city: string) => ({ id, name: 'get_weather', arguments: JSON.stringify({ city }) });

describe('a completion', () => {
  it('comes whole, as a job that anybody can look up', async () => {
    model.enqueue(textReply(['Hello ', 'there']));
    const reply = await door.ask(say('hi'));
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
    const status = await test.call('GET', `/api/jobs/${String(reply.headers['x-job-id'])}/status`, { key: owner.key });
    expect(status.body).toMatchObject({ content: 'Hello there' });
  });

  it('comes as a stream of chunks and nothing else', async () => {
    model.enqueue(textReply(['Hello ', 'there']));
    const reply = await door.ask(say('hi', { stream: true, stream_options: { include_usage: true } }));
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

  it('pauses for tools of the client, and goes on with their results', async () => {
    model.enqueue(toolCallReply([call('call_a', 'Rome'), call('call_b', 'Oslo')], { text: 'Let me see.' }));
    const first = await door.ask(say('weather?', { tools: [weather], stream: true }));
    const chunks = chunksOf(first.text);
    expect(chunks.slice(-3).map((chunk) => chunk['choices'])).toMatchObject([
      [{ delta: { tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'get_weather' } }] } }],
      [{ delta: { tool_calls: [{ index: 1, id: 'call_b' }] } }],
      [{ delta: {}, finish_reason: 'tool_calls' }],
    ]);
    model.enqueue(textReply(['Warm and cold.']));
    const second = await door.ask({
      model: 'helper',
      tools: [weather],
      messages: [
        user('weather?'),
        {
          role: 'assistant',
          content: 'Let me see.',
          tool_calls: [call('call_a', 'Rome'), call('call_b', 'Oslo')].map(({ id, name, arguments: args }) => ({
            id,
            type: 'function',
            function: { name, arguments: args },
          })),
        },
        { role: 'tool', tool_call_id: 'call_b', content: '-3' },
        { role: 'tool', tool_call_id: 'call_a', content: '30' },
      ],
    });
    expect(second.json).toMatchObject({ choices: [{ message: { content: 'Warm and cold.' }, finish_reason: 'stop' }] });
    expect(second.headers['x-job-id']).toBe(first.headers['x-job-id']);
    expect(model.requests.at(-1)?.json['messages']).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user' },
      { role: 'assistant', content: 'Let me see.' },
      { role: 'tool', tool_call_id: 'call_a', content: '30' },
      { role: 'tool', tool_call_id: 'call_b', content: '-3' },
    ]);
  });
});
