import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import pg from 'pg';

import { AgentsService } from '#chat';
import { OpenStreams } from '#platform/api';
import { defineTool, ToolRegistry } from '#tools';

import { eventually } from '../harness/eventually.js';
import type { CompletionReply } from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, result, user, withTools } from '../harness/openai-stage.js';
import { createGate, errorReply, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { TcpProxy } from '../harness/tcp-proxy.js';

let stage: OpenAiStage;
/** How often the `once` tool of the server has run. */
let booked: string[] = [];

beforeAll(async () => {
  stage = await openAiStage();
  const { app } = stage.test.api;
  app.get(ToolRegistry).register(
    defineTool({
      ...{ name: 'book', description: 'Books a hotel.', effect: 'once' },
      input: { type: 'object', properties: { hotel: { type: 'string' } }, required: ['hotel'] },
      execute: ({ hotel }) => {
        booked.push(String(hotel));
        return `booked ${String(hotel)}`;
      },
    }),
  );
  const agents = app.get(AgentsService);
  for (const name of ['Booker', 'Other'])
    await agents.create(stage.owner.principal, { name, instructions: 'Be brief.', tools: ['book'] });
});
beforeEach(() => {
  booked = [];
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

type Body = Parameters<typeof withTools>[0][number];
const book = (hotel: string) => ({ id: `book_${hotel}`, name: 'book', arguments: JSON.stringify({ hotel }) });
const body = (messages: readonly Body[], more: object = {}) => withTools(messages, { model: 'booker', ...more });
const textOf = ({ json }: CompletionReply) =>
  (json as { choices?: [{ message: { content: string } }] }).choices?.[0].message.content;
const sent = () => {
  const messages = stage.model.requests.at(-1)?.json['messages'] as { role: string; content: unknown }[];
  return messages.map(({ role, content }) => (role === 'assistant' ? role : content)).slice(1);
};
const failed = { status: 500, json: { error: { code: 'job_failed' } } };

/** A run whose first round books a hotel and asks its client; gives the request that continues it. */
async function paused(id: string, headers: Readonly<Record<string, string>> = {}) {
  const calls = [ask(id, 'Rome')];
  stage.model.enqueue(toolCallReply([book(`${id}1`)]), toolCallReply(calls));
  const first = await stage.client.ask(body([user('trip?')]), headers);
  expect(first.json).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
  return [user('trip?'), called(...calls), result(id, '30')];
}

describe.each([
  ['by the ids of its calls', {}],
  ['by its session', { 'x-tool-event-format': 'openai' }],
])('failed continuation found %s', (_, mode) => {
  const named = (id: string) => ('x-tool-event-format' in mode ? { ...mode, 'x-session-id': id } : {});
  const prefix = 'x-tool-event-format' in mode ? 's' : 'b';

  it('resumes from the stored results by the same request and runs no tool twice', async () => {
    const id = `${prefix}twice`;
    const messages = await paused(id, named(id));
    stage.model.enqueue(toolCallReply([book(`${id}2`)]), errorReply(400));
    expect(await stage.client.ask(body(messages), named(id))).toMatchObject(failed);
    stage.model.enqueue(errorReply(400));
    expect(await stage.client.ask(body(messages), named(id))).toMatchObject(failed);
    stage.model.enqueue(toolCallReply([book(`${id}3`)]), textReply(['All booked.']));
    const third = await stage.client.ask(body(messages), named(id));
    expect(textOf(third)).toBe('All booked.');
    expect(booked).toEqual([`${id}1`, `${id}2`, `${id}3`]);
    expect(sent()).toEqual([
      ...['trip?', 'assistant', `booked ${id}1`, 'assistant', '30'],
      ...['assistant', `booked ${id}2`, 'assistant', `booked ${id}3`],
    ]);
    expect((await stage.client.ask(body(messages), named(id))).json).toEqual(third.json);
  });

  it('starts a new response from stored results after a cancel', async () => {
    const id = `${prefix}cancel`;
    const messages = await paused(id, named(id));
    const before = createGate();
    const count = stage.model.requests.length;
    stage.model.enqueue({ ...textReply(['late']), before });
    const open = stage.client.open(body(messages), named(id));
    await stage.model.request(count + 1);
    const { rows } = await stage.test.platform.postgres.workerPool.query<{ id: string }>(
      `SELECT id FROM job WHERE status = 'running' ORDER BY id DESC LIMIT 1`,
    );
    await stage.test.call('POST', `/api/jobs/${rows[0]?.id ?? ''}/abort`, { key: stage.owner.key, body: {} });
    expect((await open.over).json).toMatchObject({ error: { code: 'job_cancelled' } });
    before.open();
    stage.model.enqueue(textReply(['In time.']));
    expect(textOf(await stage.client.ask(body(messages), named(id)))).toBe('In time.');
    expect(booked).toEqual([`${id}1`]);
  });

  it('sends the model the user messages beside the results when it resumes', async () => {
    const id = `${prefix}beside`;
    const messages = [...(await paused(id, named(id))), user('and hurry')];
    stage.model.enqueue(toolCallReply([book(`${id}2`)]), errorReply(400));
    expect(await stage.client.ask(body(messages), named(id))).toMatchObject(failed);
    stage.model.enqueue(textReply(['Done.']));
    expect(textOf(await stage.client.ask(body([...messages, user('please')]), named(id)))).toBe('Done.');
    expect(sent().slice(4)).toEqual(['30', 'and hurry', 'assistant', `booked ${id}2`, 'please']);
  });
});

describe('concurrent repeats of a failed continuation', () => {
  it('start one job', async () => {
    const messages = await paused('repeats');
    stage.model.enqueue(errorReply(400));
    expect(await stage.client.ask(body(messages))).toMatchObject(failed);
    stage.model.enqueue(toolCallReply([book('repeats2')]), textReply(['Once.']));
    const count = stage.model.requests.length;
    const replies = await Promise.all([1, 2, 3, 4].map(() => stage.client.ask(body(messages))));
    // One that comes a little later than the others attaches.
    const outcomes = new Set(replies.map((reply) => textOf(reply) ?? (reply.json['error'] as { code: string }).code));
    expect([...outcomes].toSorted().filter((outcome) => outcome !== 'session_busy')).toEqual(['Once.']);
    expect(stage.model.requests).toHaveLength(count + 2);
    expect(booked).toEqual(['repeats1', 'repeats2']);
  });
});

describe('first continuation of a run', () => {
  const temperature = () => stage.model.requests.at(-1)?.json['temperature'];

  it.each([
    { name: 'other', first: { temperature: 0.9 }, second: { temperature: 0.1 }, expected: 0.1 },
    { name: 'new', first: {}, second: { temperature: 0.1 }, expected: 0.1 },
    { name: 'no', first: { temperature: 0.9 }, second: {}, expected: undefined },
    { name: 'equal', first: { temperature: 0.9 }, second: { temperature: 0.9 }, expected: 0.9 },
  ])('sends its own $name sampling parameters to the model', async ({ name, first, second, expected }) => {
    const id = `sampled_${name}`;
    const calls = [ask(id, 'Rome')];
    stage.model.enqueue(toolCallReply(calls));
    await stage.client.ask(body([user('trip?')], first));
    stage.model.enqueue(textReply(['Done.']));
    const reply = await stage.client.ask(body([user('trip?'), called(...calls), result(id, '30')], second));
    expect([textOf(reply), temperature()]).toEqual(['Done.', expected]);
  });
});

describe('applied continuation', () => {
  it('lets a repeat without a key join while it runs', async () => {
    const messages = await paused('attach');
    const before = createGate();
    const count = stage.model.requests.length;
    stage.model.enqueue({ ...textReply(['Once.']), before });
    const first = stage.client.open(body(messages));
    await stage.model.request(count + 1);
    const second = stage.client.open(body(messages));
    await eventually('the second waits as well', () =>
      stage.test.api.app.get(OpenStreams).size === 2 ? true : undefined,
    );
    before.open();
    expect((await second.over).json).toEqual((await first.over).json);
    expect(stage.model.requests).toHaveLength(count + 1);
  });

  it('gets a new response for another temperature, model or tool set, and runs no tool twice', async () => {
    const messages = await paused('fresh');
    stage.model.enqueue(toolCallReply([book('fresh2')]), textReply(['First.']));
    expect(textOf(await stage.client.ask(body(messages)))).toBe('First.');
    const changes = [{ temperature: 0.5 }, { model: 'other' }, { tools: [] }, { tool_choice: 'none' }];
    for (const change of changes) {
      stage.model.enqueue(textReply([`Answer to ${JSON.stringify(change)}`]));
      const reply = await stage.client.ask(body(messages, change));
      expect(textOf(reply)).toBe(`Answer to ${JSON.stringify(change)}`);
      expect(sent().at(-1)).toBe('booked fresh2');
      // Its repeat is a repeat of this answer.
      expect((await stage.client.ask(body(messages, change))).json).toEqual(reply.json);
    }
    expect(textOf(await stage.client.ask(body(messages)))).toBe('First.');
    expect(booked).toEqual(['fresh1', 'fresh2']);
  });

  it('accepts one of two equal concurrent requests, and the other joins it on retry', async () => {
    const messages = await paused('together');
    const other = new pg.Client({ connectionString: stage.database.urls.owner });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query(
        `SELECT 1 FROM job j JOIN openai_call_id c ON c.job_id = j.id WHERE c.call_id = 'together' FOR UPDATE OF j`,
      );
      const before = createGate();
      stage.model.enqueue({ ...textReply(['Once.']), before });
      const both = [stage.client.open(body(messages)), stage.client.open(body(messages))];
      await eventually('both wait for the job', async () => {
        const { rows } = await other.query<{ n: number }>(
          `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        );
        return rows[0]?.n === 2 ? true : undefined;
      });
      await other.query('COMMIT');
      const refused = await Promise.race(both.map(({ over }) => over));
      expect(refused).toMatchObject({ status: 409, json: { error: { code: 'session_busy' } } });
      const again = stage.client.open(body(messages));
      before.open();
      expect(textOf(await again.over)).toBe('Once.');
      expect((await Promise.all(both.map(({ over }) => over))).map(({ status }) => status).sort()).toEqual([200, 409]);
    } finally {
      await other.end();
    }
  });

  it('does not match another conversation with equal call ids', async () => {
    const one = await paused('alike');
    stage.model.enqueue(textReply(['One.']));
    expect(textOf(await stage.client.ask(body(one)))).toBe('One.');
    stage.model.enqueue(toolCallReply([ask('alike', 'Rome')]));
    await stage.client.ask(body([user('other trip?')]));
    const two = [user('other trip?'), called(ask('alike', 'Rome')), result('alike', '30')];
    stage.model.enqueue(errorReply(400));
    expect(await stage.client.ask(body(two))).toMatchObject(failed);
    stage.model.enqueue(textReply(['Two.']));
    expect(textOf(await stage.client.ask(body(two)))).toBe('Two.');
    expect(sent()).toEqual(['other trip?', 'assistant', '30']);
    expect(textOf(await stage.client.ask(body(one)))).toBe('One.');
    stage.model.enqueue(textReply(['One, colder.']));
    expect(textOf(await stage.client.ask(body(one, { temperature: 0 })))).toBe('One, colder.');
    expect(sent()).toEqual(['trip?', 'assistant', 'booked alike1', 'assistant', '30']);
  });
});

describe('OpenAI client runTools with retries', () => {
  it('gets the response by its own retry if no tool with effect `once` has run on the server', async () => {
    const client = new OpenAI({ baseURL: `${stage.test.url}/v1`, apiKey: stage.owner.key, maxRetries: 2 });
    const cities: string[] = [];
    stage.model.enqueue(toolCallReply([ask('sdk', 'Rome')]), errorReply(400));
    stage.model.enqueue(textReply(['Warm.']));
    const runner = client.chat.completions.runTools({
      model: 'booker',
      messages: [{ role: 'user', content: 'trip?' }],
      tools: [
        {
          type: 'function',
          function: {
            ...{ name: 'get_weather', description: 'Weather of a city', parse: JSON.parse },
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return '30';
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe('Warm.');
    expect(cities).toEqual(['Rome']);
  });
});

describe('OpenAI client that disconnects', () => {
  const hi = { model: 'helper', messages: [{ role: 'user' as const, content: 'Hi' }] };
  const jobs = async (): Promise<readonly { readonly id: string; readonly status: string }[]> => {
    const { workspaceId } = stage.owner.principal;
    const read = 'SELECT id, status FROM job WHERE workspace_id = $1 ORDER BY id';
    return stage.database.postgres.readInWorkspace(workspaceId, {
      name: 'all-jobs',
      text: read,
      values: [workspaceId],
    });
  };

  it('aborts its stream and leaves its job running', async () => {
    const gate = createGate();
    stage.model.enqueue({ body: [textChunk('Half '), gate, ...textReply(['whole.']).body] });
    const client = new OpenAI({ baseURL: `${stage.test.url}/v1`, apiKey: stage.owner.key });
    const stream = await client.chat.completions.create({ ...hi, stream: true });
    let text = '';
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      if (text === 'Half ') break;
    }
    expect(stream.controller.signal.aborted).toBe(true);
    gate.open();
    await eventually('the job is done', async () => ((await jobs()).at(-1)?.status === 'completed' ? true : undefined));
  });

  it('retries automatically and with a key joins the running response', async () => {
    const proxy = await TcpProxy.start(stage.test.url);
    try {
      const remote = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: stage.owner.key });
      const gate = createGate();
      stage.model.enqueue({ ...textReply(['Once.']), before: gate });
      const before = stage.model.requests.length;
      const answer = remote.chat.completions.create(hi, { headers: { 'Idempotency-Key': 'retried' } });
      await stage.model.request(before + 1);
      proxy.cut('reset');
      await eventually('it is back', () => (proxy.open > 0 ? true : undefined));
      gate.open();
      expect((await answer).choices[0]?.message.content).toBe('Once.');
      expect(stage.model.requests).toHaveLength(before + 1);
    } finally {
      await proxy.close();
    }
  });

  it('gets a new response from its automatic retry if it sends no idempotency key', async () => {
    const proxy = await TcpProxy.start(stage.test.url);
    try {
      const remote = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: stage.owner.key });
      const gate = createGate();
      stage.model.enqueue({ ...textReply(['First.']), before: gate }, textReply(['Second.']));
      const before = stage.model.requests.length;
      const answer = remote.chat.completions.create(hi);
      await stage.model.request(before + 1);
      proxy.cut('reset');
      expect((await answer).choices[0]?.message.content).toBe('Second.');
      gate.open();
      await eventually('both are done', async () =>
        (await jobs()).slice(-2).every(({ status }) => status === 'completed') ? true : undefined,
      );
    } finally {
      await proxy.close();
    }
  });
});
