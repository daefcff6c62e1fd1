import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { CompletionReply } from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, result, user, withTools } from '../harness/openai-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

/** Begins a conversation; the provider names its call as it always does. */
async function begin(question: string): Promise<{ readonly id: string; readonly jobId: unknown }> {
  stage.model.enqueue(toolCallReply([ask('call_0', question)]));
  const reply = await stage.client.ask(withTools([user(question)]));
  const { choices } = reply.json as { choices: [{ message: { tool_calls: [{ id: string }] } }] };
  return { id: choices[0].message.tool_calls[0].id, jobId: reply.headers['x-job-id'] ?? null };
}

const answered = (question: string, id: string, content: string) => [
  user(question),
  called(ask(id, question)),
  result(id, content),
];
const textOf = ({ json }: CompletionReply) =>
  (json as { choices?: [{ message: { content: string } }] }).choices?.[0].message.content;

describe('/v1 conversations with equal call ids', () => {
  it('stay separate, also when a completed one is continued', async () => {
    const first = await begin('first?');
    stage.model.enqueue(textReply(['answer to the first']));
    expect(textOf(await stage.client.ask(withTools(answered('first?', first.id, 'one'))))).toBe('answer to the first');

    const second = await begin('second?');
    // The first job has ended, so the id may come again; of a job that has not, it may not.
    expect(second.id).toBe(first.id);
    expect((await begin('third?')).id).toMatch(/^call_[0-9a-f]{24}$/);
    stage.model.enqueue(textReply(['more of the first']));
    const next = await stage.client.ask(
      withTools([
        ...answered('first?', first.id, 'one'),
        { role: 'assistant', content: 'answer to the first' },
        user('and then?'),
      ]),
    );
    expect(textOf(next)).toBe('more of the first');
    expect(next.headers['x-job-id']).not.toBe(second.jobId);
    expect(JSON.stringify(stage.model.requests.at(-1)?.json['messages'])).not.toContain('second?');

    // A repeat joins its own continuation, even if another conversation waits meanwhile.
    expect(textOf(await stage.client.ask(withTools(answered('first?', first.id, 'one'))))).toBe('answer to the first');
    stage.model.enqueue(textReply(['answer to the second']));
    expect(textOf(await stage.client.ask(withTools(answered('second?', second.id, 'two'))))).toBe(
      'answer to the second',
    );
  });

  it('do not replay the response of one model for another model', async () => {
    const { id } = await begin('fourth?');
    stage.model.enqueue(textReply(['answer to the fourth']));
    await stage.client.ask(withTools(answered('fourth?', id, 'four')));
    const other = await stage.client.ask(withTools(answered('fourth?', id, 'four'), { model: 'auto-not' }));
    expect([other.status, textOf(other)]).toEqual([404, undefined]);
  });

  it('continue only within their own session', async () => {
    stage.model.enqueue(toolCallReply([ask('call_s', 'here')]));
    await stage.client.ask(withTools([user('here?')]), { 'x-session-id': 'here' });
    const elsewhere = await stage.client.ask(withTools(answered('here?', 'call_s', 'x')), { 'x-session-id': 'there' });
    expect(elsewhere.json).toMatchObject({
      error: { message: 'No pending tool run exists for these tool results', param: 'messages' },
    });
    stage.model.enqueue(textReply(['here it is']));
    const here = await stage.client.ask(withTools(answered('here?', 'call_s', 'x')), { 'x-session-id': 'here' });
    expect(textOf(here)).toBe('here it is');
  });

  it('accept a call id that is too long for an index', async () => {
    stage.model.enqueue(toolCallReply([ask('x'.repeat(100_000), 'long')]));
    const reply = await stage.client.ask(withTools([user('long?')]));
    expect(reply.json).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
  });
});
