import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { graphqlMember } from '../harness/graphql-member.js';
import { ask, called, type OpenAiStage, openAiStage, result, user, withTools } from '../harness/openai-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

const MESSAGES = `query($id: ID!) { thread(id: $id) { messages(first: 20) { edges { node { role content } } } } }`;
const START = `mutation($id: ID!) { startChat(input: { message: "Next", threadId: $id }) { jobId } }`;

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

describe('what is said beside results', () => {
  const headers = { 'x-tool-event-format': 'openai', 'x-session-id': 'said' };
  const call = ask('c1', 'Rome');
  const body = withTools([
    user('weather?'),
    called(call),
    result('c1', '30'),
    { role: 'system', content: 'Fahrenheit.' },
    user('and hurry'),
  ]);
  const shown = async (threadId: string) => {
    const { thread } = (await graphqlMember(stage.test, stage.owner.key).query(MESSAGES, { id: threadId })) as {
      thread: { messages: { edges: { node: { role: string; content: unknown } }[] } };
    };
    return thread.messages.edges.map(({ node: { role, content } }) => [role, content]);
  };

  it('joins the thread once, and stands at its place in later turns', async () => {
    stage.model.enqueue(toolCallReply([call]));
    await stage.door.ask(withTools([user('weather?')]), headers);
    stage.model.enqueue(textReply(['Hot.']));
    const first = await stage.door.ask(body, headers);
    const repeated = await stage.door.ask(body, headers);
    expect([first.status, repeated.json]).toEqual([200, first.json]);
    const { rows } = await stage.test.platform.postgres.engine.query<{ id: string }>(
      'SELECT thread_id AS id FROM job WHERE id = $1',
      [first.headers['x-job-id']],
    );
    const threadId = rows[0]?.id ?? '';
    expect((await shown(threadId)).map(([role]) => role)).toEqual(['user', 'assistant', 'system', 'user']);
    expect(JSON.stringify(await shown(threadId)).split('and hurry')).toHaveLength(2);
    const count = stage.model.requests.length;
    stage.model.enqueue(textReply(['Yes?']));
    await graphqlMember(stage.test, stage.owner.key).query(START, { id: threadId });
    await stage.model.request(count + 1);
    const asked = stage.model.requests.at(-1)?.json['messages'] as { role: string; content: unknown }[];
    expect(asked.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'weather?'],
      ['assistant', null],
      ['tool', '30'],
      ['system', 'Fahrenheit.'],
      ['user', 'and hurry'],
      ['assistant', 'Hot.'],
      ['user', 'Next'],
    ]);
  });
});
