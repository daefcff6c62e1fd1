import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import {
  type CompletionReply,
  type CompletionsClient,
  completionsClient,
  contentOf,
} from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { createGate, textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

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

describe('/v1 session', () => {
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

  it('gives a request in another format its own thread while it is busy', async () => {
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

function contentOfWhole({ json }: CompletionReply): unknown {
  return (json as { choices?: [{ message: { content: string } }] }).choices?.[0].message.content ?? json;
}
