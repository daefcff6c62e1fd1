import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { eventually } from '../harness/eventually.js';
import { graphqlMember } from '../harness/graphql-member.js';
import {
  type CompletionReply,
  type CompletionsClient,
  completionsClient,
  contentOf,
} from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { createGate, errorReply, textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});

afterEach(() => stage.assertQuiet());

afterAll(() => stage.close());

describe('/v1 session', () => {
  const strict = (sessionId: string) => ({ 'x-tool-event-format': 'openai', 'x-session-id': sessionId });

  const messageOf = ({ json }: CompletionReply) => (json['error'] as { message?: string } | undefined)?.message;

  const jobOf = ({ headers }: CompletionReply) => String(headers['x-job-id']);

  /** A session that waits for the results of `ids`. */
  async function paused(sessionId: string, ...ids: readonly string[]): Promise<CompletionReply> {
    stage.model.enqueue(toolCallReply(ids.map((id) => ask(id, `city of ${id}`))));
    return stage.client.ask(withTools([user('weather?')]), strict(sessionId));
  }

  const continueWith = (...messages: Parameters<typeof withTools>[0][number][]) =>
    withTools([user('weather?'), ...messages]);

  function contentOfWhole({ json }: CompletionReply): unknown {
    return (json as { choices?: [{ message: { content: string } }] }).choices?.[0].message.content ?? json;
  }

  it('runs one strict response at a time', async () => {
    const before = createGate();
    const count = stage.model.requests.length;
    stage.model.enqueue({ ...textReply(['one']), before });
    const open = stage.client.open(plain('hi'), strict('busy'));
    await stage.model.request(count + 1);
    const second = await stage.client.ask(plain('hi'), strict('busy'));
    expect([second.status, second.json]).toEqual([
      409,
      {
        error: {
          message: 'Another strict OpenAI stream is already active for this session',
          type: 'invalid_request_error',
          param: 'x-session-id',
          code: 'session_busy',
        },
      },
    ]);
    before.open();
    expect((await open.over).status).toBe(200);
  });

  it('accepts one of many concurrent strict requests', async () => {
    const before = createGate();
    stage.model.enqueue({ ...textReply(['one']), before });
    const all = Array.from({ length: 8 }, () => stage.client.open(plain('hi'), strict('race')));
    let refused = 0;
    for (const { over } of all) void over.then(({ status }) => (refused += status === 409 ? 1 : 0));
    await eventually('seven are refused', () => (refused === 7 ? true : undefined));
    before.open();
    const statuses = (await Promise.all(all.map(({ over }) => over))).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 7 }, () => 409)]);
  });

  it('returns the response of the first continuation to a repeat, during and after the run', async () => {
    await paused('equal', 'q1');
    const body = continueWith(called(ask('q1', 'x')), result('q1', 'one'));
    const before = createGate();
    const count = stage.model.requests.length;
    stage.model.enqueue({ ...textReply(['answer']), before });
    const first = stage.client.open(body, strict('equal'));
    await stage.model.request(count + 1);
    const second = stage.client.open({ ...body, stream: true }, strict('equal'));
    const different = continueWith(called(ask('q1', 'x')), result('q1', 'one'), user('and now?'));
    expect((await stage.client.ask(different, strict('equal'))).status).toBe(409);
    before.open();
    const answer = await first.over;
    expect(contentOf((await second.over).text)).toBe('answer');
    const repeat = await stage.client.ask(body, strict('equal'));
    expect(repeat.json).toEqual(answer.json);
    const other = await stage.client.ask(continueWith(called(ask('q1', 'x')), result('q1', 'two')), strict('equal'));
    expect(messageOf(other)).toBe('No pending tool run exists for these tool results');
  });

  it('resolves by call ids without a session header', async () => {
    stage.model.enqueue(toolCallReply([ask('same', 'Rome')]));
    const first = await stage.client.ask(withTools([user('one')]));
    stage.model.enqueue(toolCallReply([ask('same', 'Oslo')]));
    const second = await stage.client.ask(withTools([user('two')]));
    const [one, two] = [first, second].map(
      ({ json }) =>
        (json as { choices: [{ message: { tool_calls: [{ id: string }] } }] }).choices[0].message.tool_calls[0].id,
    );
    expect(one).toBe('same');
    expect(two).toMatch(/^call_[0-9a-f]{24}$/);
    stage.model.enqueue(textReply(['cold']));
    const cold = await stage.client.ask(
      withTools([user('two'), called(ask(String(two), 'Oslo')), result(String(two), '-3')]),
    );
    expect([jobOf(cold), contentOfWhole(cold)]).toEqual([jobOf(second), 'cold']);
    stage.model.enqueue(textReply(['warm']));
    const body = withTools([user('one'), called(ask('same', 'Rome')), result('same', '30')]);
    const warm = await stage.client.ask(body);
    expect([jobOf(warm), contentOfWhole(warm)]).toEqual([jobOf(first), 'warm']);
    expect((await stage.client.ask(body)).json).toEqual(warm.json);
    // The job has ended, so its provider may name a call like that again.
    stage.model.enqueue(toolCallReply([ask('same', 'Bonn')]));
    expect(JSON.stringify((await stage.client.ask(withTools([user('three')]))).json)).toContain('"same"');
  });

  it('continues in another process', async () => {
    await paused('elsewhere', 'w1');
    const { client } = await stage.another();
    stage.model.enqueue(textReply(['from there']));
    const reply = await client.ask(continueWith(called(ask('w1', 'x')), result('w1', 'one')), strict('elsewhere'));
    expect(contentOfWhole(reply)).toBe('from there');
  });

  it('belongs to its key: the same id of another tenant or key is another session', async () => {
    await paused('shared', 'k1');
    const tenant = await stage.tenant('other');
    const { key } = await stage.test.people.keyOf(stage.owner.principal, ['read', 'write']);
    const others: CompletionsClient[] = [tenant.client, completionsClient(stage.test.url, key)];
    for (const client of others) {
      const stolen = await client.ask(continueWith(called(ask('k1', 'x')), result('k1', 'one')), strict('shared'));
      expect(messageOf(stolen)).toBe('No pending tool run exists for these tool results');
      const byIds = await client.ask(continueWith(called(ask('k1', 'x')), result('k1', 'one')));
      expect(messageOf(byIds)).toBe('No pending tool run exists for these tool results');
      stage.model.enqueue(textReply(['own']));
      expect(contentOfWhole(await client.ask(plain('hi'), strict('shared')))).toBe('own');
    }
    stage.model.enqueue(textReply(['mine']));
    const mine = await stage.client.ask(continueWith(called(ask('k1', 'x')), result('k1', 'one')), strict('shared'));
    expect(contentOfWhole(mine)).toBe('mine');
  });

  it('ignores the chat id of a front end when the body chose strict mode', async () => {
    const chat = { 'x-openwebui-chat-id': 'strict-chat', 'x-librechat-conversation-id': 'strict-chat' };
    const before = createGate();
    const count = stage.model.requests.length;
    stage.model.enqueue({ ...textReply(['one']), before });
    const open = stage.client.open(withTools([user('hi')]), chat);
    await stage.model.request(count + 1);
    stage.model.enqueue(toolCallReply([ask('fe1', 'Rome')]));
    const second = await stage.client.ask(withTools([user('weather?')]), chat);
    expect([second.status, second.headers['x-session-id']]).toEqual([200, undefined]);
    // A run that was never continued does not keep the next one from starting.
    stage.model.enqueue(textReply(['three']));
    expect(contentOfWhole(await stage.client.ask(withTools([user('hi')]), chat))).toBe('three');
    stage.model.enqueue(textReply(['warm']));
    const results = [called(ask('fe1', 'Rome')), result('fe1', '30')];
    expect(contentOfWhole(await stage.client.ask(continueWith(...results), chat))).toBe('warm');
    before.open();
    expect((await open.over).status).toBe(200);
  });

  it('uses a separate thread for a request in another format while it is busy', async () => {
    const before = createGate();
    const count = stage.model.requests.length;
    stage.model.enqueue({ ...textReply(['chat']), before });
    const headers = { 'x-openwebui-chat-id': 'chat' };
    const open = stage.client.open(plain('hi'), headers);
    await stage.model.request(count + 1);
    stage.model.enqueue(textReply(['title']));
    const title = await stage.client.ask(plain('a title, please'), headers);
    expect([contentOfWhole(title), title.headers['x-session-id']]).toEqual(['title', 'chat']);
    before.open();
    const chat = await open.over;
    const threads = await stage.database.postgres.withWorkspaceSql(stage.owner.principal.workspaceId, (client) =>
      client.query('SELECT DISTINCT thread_id FROM job WHERE id = ANY($1::uuid[])', [[jobOf(title), jobOf(chat)]]),
    );
    expect(threads.rowCount).toBe(2);
    stage.model.enqueue(textReply(['next']));
    const next = await stage.client.ask(
      { model: 'helper', messages: [user('hi'), { role: 'assistant', content: 'chat' }, user('more')] },
      headers,
    );
    const messages = await stage.database.postgres.withWorkspaceSql(stage.owner.principal.workspaceId, (client) =>
      client.query<{ role: string; content: string | null }>(
        `SELECT m.role, m.content FROM message m JOIN job j ON j.thread_id = m.thread_id WHERE j.id = $1 ORDER BY m.position`,
        [jobOf(next)],
      ),
    );
    expect(messages.rows).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null },
      { role: 'user', content: 'more' },
      { role: 'assistant', content: null },
    ]);
  });
});

describe('history of /v1 conversations', () => {
  const MESSAGES = `query($id: ID!) { thread(id: $id) { messages(first: 20) { edges { node { role content } } } } }`;

  const START = `mutation($id: ID!) { startChat(input: { message: "Next", threadId: $id }) { jobId } }`;

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
      const { rows } = await stage.test.platform.postgres.workerPool.query<{ id: string }>(
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

    /** A run that waits for its client, with a lock on its thread like that of a start. */
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
});
