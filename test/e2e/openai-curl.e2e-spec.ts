import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

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

/** As an example of the docs does it: `-d` and two headers. */
async function curl(body: object, ...flags: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('curl', [
    ...['-sS', '--max-time', '240', `${stage.test.url}/v1/chat/completions`],
    ...['-H', `Authorization: Bearer ${stage.owner.key}`, '-H', 'Content-Type: application/json'],
    ...['-d', JSON.stringify(body), ...flags],
  ]);
  return stdout;
}

describe('curl as an OpenAI client', () => {
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
