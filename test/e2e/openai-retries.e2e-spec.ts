import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { AgentsService } from '#chat';
import { defineTool, ToolRegistry } from '#tools';

import { ask, called, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { errorReply, textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;
let ran: string[] = [];

beforeAll(async () => {
  stage = await openAiStage();
  const { app } = stage.test.api;
  for (const effect of ['once', 'idempotent'] as const)
    app.get(ToolRegistry).register(
      defineTool({
        ...{ name: `run_${effect}`, description: `Runs, ${effect}.`, effect },
        input: { type: 'object', properties: { fail: { type: 'boolean' } } },
        execute: ({ fail }) => {
          ran.push(effect);
          if (fail === true) throw new Error('it broke');
          return 'done';
        },
      }),
    );
  const tools = ['run_once', 'run_idempotent'];
  await app.get(AgentsService).create(stage.owner.principal, { name: 'Runner', instructions: 'Be brief.', tools });
});
beforeEach(() => {
  ran = [];
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

const run = (effect: string) => ({ id: `run_${effect}`, name: `run_${effect}`, arguments: '{}' });
const runner = { model: 'runner' };

describe('/v1 completion that fails before its first byte', () => {
  it('forbids the retry of SDKs when a once tool has run', async () => {
    stage.model.enqueue(toolCallReply([run('once')]), errorReply(400));
    const reply = await stage.client.ask(plain('hi', runner));
    expect([reply.status, reply.headers['x-should-retry']]).toEqual([500, 'false']);
  });

  it('leaves the retry to the SDK when no once tool has run', async () => {
    stage.model.enqueue(toolCallReply([run('idempotent')]), errorReply(400));
    const reply = await stage.client.ask(plain('hi', runner));
    expect([reply.status, reply.headers['x-should-retry']]).toEqual([500, undefined]);
    stage.model.enqueue(errorReply(400));
    const stream = await stage.client.ask(plain('hi', { ...runner, stream: true }));
    expect([stream.status, stream.headers['x-should-retry']]).toEqual([500, undefined]);
  });

  it('stops the retries of the OpenAI client when a once tool has run', async () => {
    const client = new OpenAI({ baseURL: `${stage.test.url}/v1`, apiKey: stage.owner.key, maxRetries: 2 });
    stage.model.enqueue(toolCallReply([run('once')]), errorReply(400));
    const asked = client.chat.completions.create({ ...runner, messages: [{ role: 'user', content: 'hi' }] });
    await expect(asked).rejects.toMatchObject({ status: 500, code: 'job_failed' });
    expect(ran).toEqual(['once']);
  });

  it('forbids the retry when the tool ran before the client was asked', async () => {
    stage.model.enqueue(toolCallReply([run('once'), ask('before', 'Rome')]));
    await stage.client.ask(withTools([user('hi')], runner));
    stage.model.enqueue(errorReply(400));
    const messages = [user('hi'), called(ask('before', 'Rome')), result('before', '30')];
    const reply = await stage.client.ask(withTools(messages, runner));
    expect([reply.status, reply.headers['x-should-retry']]).toEqual([500, 'false']);
    stage.model.enqueue(textReply(['Warm.']));
    expect((await stage.client.ask(withTools(messages, runner))).status).toBe(200);
  });
});

describe('failed POST /v1/tools/execute', () => {
  it('forbids the retry of SDKs when its tool is a once tool', async () => {
    for (const [effect, header] of [
      ['once', 'false'],
      ['idempotent', null],
    ] as const) {
      const body = { agent: 'runner', tool_name: `run_${effect}`, arguments: { fail: true } };
      const { key } = stage.owner;
      const reply = await stage.test.call('POST', '/v1/tools/execute', { key, body });
      expect([reply.status, reply.headers.get('x-should-retry')]).toEqual([500, header]);
    }
  });
});
