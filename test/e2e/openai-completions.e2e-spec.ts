import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { chunksOf, contentOf } from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

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
