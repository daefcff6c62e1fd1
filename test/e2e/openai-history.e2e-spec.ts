import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { graphqlMember } from '../harness/graphql-member.js';
import { ask, called, type OpenAiStage, openAiStage, result, user, withTools } from '../harness/openai-stage.js';
import { errorReply, textReply, toolCallReply } from '../harness/scripted-reply.js';

const MESSAGES = `query($id: ID!) { thread(id: $id) { messages(first: 20) { edges { node { role content } } } } }`;
const START = `mutation($id: ID!) { startChat(input: { message: "Next", threadId: $id }) { jobId } }`;

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

describe('messages beside tool results', () => {
  const headers = { 'x-tool-event-format': 'openai', 'x-session-id': 'history' };
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

  it('join the thread once and keep their place in later turns', async () => {
    stage.model.enqueue(toolCallReply([call]));
    await stage.client.ask(withTools([user('weather?')]), headers);
    stage.model.enqueue(textReply(['Hot.']));
    const first = await stage.client.ask(body, headers);
    const repeated = await stage.client.ask(body, headers);
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

describe('repeated messages after a failed continuation', () => {
  const headers = { 'x-tool-event-format': 'openai', 'x-session-id': 'again' };
  const call = ask('again', 'Rome');
  const repeated = [user('weather?'), called(call), result('again', '30'), user('and hurry')];
  const shown = async () => {
    const rows = await stage.test.platform.postgres.readInWorkspace<{ content: string }>(
      stage.owner.principal.workspaceId,
      {
        name: 'history',
        text: `SELECT content FROM message m JOIN openai_session s ON s.thread_id = m.thread_id
                WHERE s.session_id = 'again' AND m.role = 'user' ORDER BY m.position`,
        values: [],
      },
    );
    return rows.map(({ content }) => content);
  };

  it('join the thread once across failed and successful turns', async () => {
    stage.model.enqueue(toolCallReply([call]));
    await stage.client.ask(withTools([user('weather?')]), headers);
    const failed = { status: 500, json: { error: { code: 'job_failed' } } };
    stage.model.enqueue(errorReply(400, 'no'));
    expect(await stage.client.ask(withTools(repeated), headers)).toMatchObject(failed);
    stage.model.enqueue(errorReply(400, 'no'));
    const more = [...repeated, user('once more')];
    expect(await stage.client.ask(withTools(more), headers)).toMatchObject(failed);
    stage.model.enqueue(textReply(['Hot.']));
    expect((await stage.client.ask(withTools([...more, user('please')]), headers)).status).toBe(200);
    const asked = stage.model.requests.at(-1)?.json['messages'] as { content: unknown }[];
    expect(asked.slice(1).map(({ content }) => content)).toEqual([
      'weather?',
      null,
      '30',
      'and hurry',
      'once more',
      'please',
    ]);
    expect(await shown()).toEqual(['weather?', 'and hurry', 'once more', 'please']);
    // The turn has a response, so an equal message is a new one.
    stage.model.enqueue(textReply(['Still hot.']));
    const answered = [...more, user('please'), { role: 'assistant', content: 'Hot.' }, user('and hurry')];
    expect((await stage.client.ask(withTools(answered), headers)).status).toBe(200);
    expect(await shown()).toEqual(['weather?', 'and hurry', 'once more', 'please', 'and hurry']);
  });
});

describe('continuation while another request starts a job in the thread', () => {
  let other: pg.Client;

  beforeEach(async () => {
    other = new pg.Client({ connectionString: stage.database.urls.owner });
    await other.connect();
  });
  afterEach(() => other.end());

  /** A run that waits for its client, whose thread is held as a start holds it. */
  const held = async (session: string) => {
    const headers = { 'x-tool-event-format': 'openai', 'x-session-id': session };
    const call = ask(session, 'Rome');
    stage.model.enqueue(toolCallReply([call]));
    const { headers: paused } = await stage.client.ask(withTools([user('weather?')]), headers);
    await other.query('BEGIN');
    await other.query(
      'SELECT 1 FROM thread t JOIN job j ON j.thread_id = t.id WHERE j.id = $1 FOR NO KEY UPDATE OF t',
      [paused['x-job-id']],
    );
    const body = withTools([user('weather?'), called(call), result(session, '30'), user('and hurry')]);
    return () => stage.client.ask(body, headers);
  };
  /** Holds the lock of the thread until another session waits for it. It runs within Postgres, because no request waits longer than 250 ms. */
  const whenAwaited = `DO $$ BEGIN FOR i IN 1..20000 LOOP
    EXIT WHEN EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)));
    PERFORM pg_sleep(0.005);
  END LOOP; END $$`;

  it('waits for the other start and leaves the session to it', async () => {
    const respond = await held('awaited');
    stage.model.enqueue(textReply(['Hot.']));
    const started = `UPDATE openai_session SET latest_answer = latest_answer WHERE session_id = 'awaited'`;
    const [answer] = await Promise.all([respond(), other.query(`${whenAwaited}; ${started}; COMMIT`)]);
    expect(answer.status).toBe(200);
  });

  it('returns a conflict when the other start takes too long', async () => {
    const respond = await held('held');
    expect(await respond()).toMatchObject({
      status: 409,
      json: { error: { code: 'session_busy' } },
    });
    await other.query('ROLLBACK');
    stage.model.enqueue(textReply(['Hot.']));
    expect((await respond()).status).toBe(200);
  });
});
