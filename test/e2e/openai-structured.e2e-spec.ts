import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { ApprovalPoliciesService } from '#approvals';
import { InterruptTimers } from '#jobs';

import type { TestMember } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { ask as askGraphql } from '../harness/graphql.js';
import { chunksOf, type CompletionReply, completionsClient, contentOf } from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { createGate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage({ STARTS_PER_MINUTE: '1000' });
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

describe('structured output', () => {
  let client: OpenAI;

  beforeAll(() => {
    client = new OpenAI({ baseURL: `${stage.test.url}/v1`, apiKey: stage.owner.key, maxRetries: 0 });
  });
  const City = z.object({ city: z.string(), degrees: z.number().nullable() });
  const question = [{ role: 'user' as const, content: 'Rome?' }];
  const answer = '{"city":"Rome","degrees":30}';

  describe('structured output of the OpenAI client', () => {
    it('parses with the zod helper for response formats', async () => {
      stage.model.enqueue(textReply([answer]));
      const format = { response_format: zodResponseFormat(City, 'city') };
      const { choices } = await client.chat.completions.parse({ model: 'helper', messages: question, ...format });
      expect(choices[0]?.message.parsed).toEqual({ city: 'Rome', degrees: 30 });
    });

    it('from a forced function starts any number of runs that are never continued, with and without a session', async () => {
      const tools = [zodFunction({ name: 'give_city', parameters: City })];
      const tool_choice = { type: 'function' as const, function: { name: 'give_city' } };
      for (const headers of [{}, { 'X-Session-Id': 'forced' }, { 'X-OpenWebUI-Chat-Id': 'forced' }])
        for (let n = 0; n < 8; n++) {
          stage.model.enqueue(toolCallReply([{ id: 'call_0', name: 'give_city', arguments: answer }]));
          const body = { model: 'helper', messages: question, tools, tool_choice };
          const { choices } = await client.chat.completions.parse(body, { headers });
          expect(choices[0]?.message.tool_calls).toMatchObject([
            { function: { parsed_arguments: { city: 'Rome', degrees: 30 } } },
          ]);
        }
      stage.model.enqueue(textReply(['Warm.']));
      const plain = { model: 'helper', messages: question };
      const { choices } = await client.chat.completions.create(plain, { headers: { 'X-Session-Id': 'forced' } });
      expect(choices[0]?.message.content).toBe('Warm.');
    });
  });

  describe('MAX_UNFINISHED_JOBS_PER_USER', () => {
    const bound = 5;
    let small: OpenAiStage;

    beforeAll(async () => {
      small = await openAiStage({ STARTS_PER_MINUTE: '1000', MAX_UNFINISHED_JOBS_PER_USER: String(bound) });
    });
    afterEach(() => small.assertQuiet());
    afterAll(() => small.close());

    const forced = {
      model: 'helper',
      messages: question,
      tools: [zodFunction({ name: 'give_city', parameters: City })],
      tool_choice: { type: 'function' as const, function: { name: 'give_city' } },
    };
    const call = toolCallReply([{ id: 'call_0', name: 'give_city', arguments: answer }]);
    const startChat = `mutation { startChat(input: { message: "hi", model: "helper" }) {
    jobId userErrors { code } } }`;
    const clientOf = ({ key }: TestMember) =>
      new OpenAI({ baseURL: `${small.test.url}/v1`, apiKey: key, maxRetries: 0 });
    /** Gives the id of the job, which stays paused. */
    const completeForced = async (user: OpenAI): Promise<string> => {
      small.model.enqueue(call);
      const { data, response } = await user.chat.completions.create(forced).withResponse();
      expect(data.choices[0]?.finish_reason).toBe('tool_calls');
      return response.headers.get('x-job-id') ?? '';
    };
    /** Starts a run that waits for an approval, and disconnects. */
    const awaitApproval = async (owner: TestMember): Promise<string> => {
      small.model.enqueue(toolCallReply([{ id: 'sum', name: 'add_numbers', arguments: '{"a":1,"b":2}' }]));
      const open = completionsClient(small.test.url, owner.key).open(plain('add', { stream: true }));
      await open.until(': waiting approval ');
      const { headers } = await open.begun;
      open.leave();
      return String(headers['x-job-id']);
    };
    const tenant = async (name: string) => {
      const { owner } = await small.tenant(name);
      const policy = { rules: [{ match: 'add_numbers', action: 'require_approval' }] };
      await small.test.api.app.get(ApprovalPoliciesService).save(owner.principal, { policy, expectedVersion: null });
      return owner;
    };
    const statesOf = async ({ principal }: TestMember) => {
      const { rows } = await small.database.postgres.withWorkspaceSql(principal.workspaceId, (sql) =>
        sql.query<{ id: string; state: string }>(
          `SELECT id, CASE WHEN finished_at IS NULL THEN status ELSE status || ' ' || reason END AS state FROM job`,
        ),
      );
      return new Map(rows.map(({ id, state }) => [id, state]));
    };

    it('completes 20 forced function calls that are never continued; the oldest runs expire, an approval stays', async () => {
      const owner = await tenant('forced');
      const approval = await awaitApproval(owner);
      const user = clientOf(owner);
      const runs: string[] = [];
      for (let n = 0; n < 20; n++) runs.push(await completeForced(user));
      const kept = bound - 1;
      const states = await eventually('the oldest runs have ended', async () => {
        const now = await statesOf(owner);
        return runs.slice(0, -kept).every((id) => now.get(id) === 'failed client_tool_expired') ? now : undefined;
      });
      expect(runs.slice(-kept).map((id) => states.get(id))).toEqual(runs.slice(-kept).map(() => 'waiting'));
      expect(states.get(approval)).toBe('waiting');
      // The same user starts jobs by other APIs, too.
      small.model.enqueue(textReply(['Hello.']));
      const { data, errors } = await askGraphql(small.test, startChat, { key: owner.key });
      expect([errors, data]).toMatchObject([[], { startChat: { userErrors: [] } }]);
      const { jobId } = data?.['startChat'] as { jobId: string };
      await eventually('it has completed', async () =>
        (await statesOf(owner)).get(jobId) === 'completed stop' ? true : undefined,
      );
    });

    it('gets the limit as an error on every API when all stored jobs wait for approvals', async () => {
      const owner = await tenant('approvals');
      const waiting = [];
      for (let n = 0; n < bound; n++) waiting.push(await awaitApproval(owner));
      const refused = {
        code: 'job_limit_reached',
        status: 503,
        message: expect.stringMatching(/Too many unfinished jobs: .*MAX_UNFINISHED_JOBS_PER_USER/),
      };
      await expect(clientOf(owner).chat.completions.create(forced)).rejects.toMatchObject(refused);
      const limit = { limit: 'MAX_UNFINISHED_JOBS_PER_USER', limitValue: bound, raisedBy: 'operator' };
      const { errors } = await askGraphql(small.test, startChat, { key: owner.key });
      expect(errors).toMatchObject([{ extensions: { reason: 'job_limit_reached', ...limit } }]);
      const states = await statesOf(owner);
      expect([...states]).toEqual(expect.arrayContaining(waiting.map((id) => [id, 'waiting'])));
      expect(states.size).toBe(bound);
    });

    it('expires paused runs for starts at the limit, which complete also when queued behind a running job', async () => {
      const owner = await tenant('queued');
      const { workspaceId } = owner.principal;
      await small.database.postgres.withWorkspaceSql(workspaceId, (sql) =>
        sql.query('UPDATE workspace SET max_jobs = 1 WHERE id = $1', [workspaceId]),
      );
      const user = clientOf(owner);
      const runs: string[] = [];
      for (let n = 0; n < bound - 1; n++) runs.push(await completeForced(user));
      const gate = createGate();
      small.model.enqueue({ body: [textChunk('Wait.'), gate], end: 'hang' });
      const running = completionsClient(small.test.url, owner.key).open(plain('wait', { stream: true }));
      const { headers } = await running.begun;
      const started = runs.map(() => completeForced(user));
      await eventually('each start has taken the place of a run', async () => {
        const now = await statesOf(owner);
        return runs.every((id) => now.get(id) === 'queued') ? true : undefined;
      });
      await small.test.call('POST', `/api/jobs/${String(headers['x-job-id'])}/abort`, { key: owner.key });
      const next = await Promise.all(started);
      const states = await eventually('the runs have expired', async () => {
        const now = await statesOf(owner);
        return runs.every((id) => now.get(id) === 'failed client_tool_expired') ? now : undefined;
      });
      expect(next.map((id) => states.get(id))).toEqual(next.map(() => 'waiting'));
      running.leave();
      gate.open();
    });
  });
});

describe('waiting /v1 job in the format openai', () => {
  const strict = (sessionId: string) => ({ 'x-tool-event-format': 'openai', 'x-session-id': sessionId });
  const messageOf = ({ json }: CompletionReply) => (json['error'] as { message?: string } | undefined)?.message;

  /** A session that waits for the results of `ids`. */
  async function paused(sessionId: string, ...ids: readonly string[]): Promise<CompletionReply> {
    stage.model.enqueue(toolCallReply(ids.map((id) => ask(id, `city of ${id}`))));
    return stage.client.ask(withTools([user('weather?')]), strict(sessionId));
  }

  const continueWith = (...messages: Parameters<typeof withTools>[0][number][]) =>
    withTools([user('weather?'), ...messages]);

  it('keeps waiting when a request does not bring exactly the pending results', async () => {
    await paused('checks', 'c1', 'c2');
    const history = called(ask('c1', 'x'), ask('c2', 'x'));
    const whole = [history, result('c1', 'one'), result('c2', 'two')];
    const refusals: [object, string, string][] = [
      [
        withTools([user('weather?'), ...whole], { model: 'other' }),
        'Pending tool run belongs to a different model for this session',
        'model',
      ],
      [plain('something else'), 'Tool result messages are required to continue the paused run', 'messages'],
      [continueWith(...whole, result('c2', 'three')), 'Duplicate tool results for tool_call_id(s): c2', 'messages'],
      [continueWith(history, result('c2', 'two')), 'Missing tool results for tool_call_id(s): c1', 'messages'],
      [
        continueWith(...whole, result('z', ''), result('a', '')),
        'Unknown tool_call_id(s) not in pending requirements: a, z',
        'messages',
      ],
      [
        continueWith(history, result('c1', 'one'), result('c2', 'x'.repeat(262_145))),
        'Tool result for c2 exceeds 262144 bytes',
        'messages',
      ],
    ];
    for (const [body, message, param] of refusals) {
      const reply = await stage.client.ask(body, strict('checks'));
      expect([reply.status, reply.json]).toEqual([
        400,
        { error: { message, type: 'invalid_request_error', param, code: null } },
      ]);
    }
    stage.model.enqueue(textReply(['done']));
    const reply = await stage.client.ask(continueWith(...whole, result('c1', 'one')), strict('checks'));
    expect(reply.json).toMatchObject({ choices: [{ message: { content: 'done' } }] });
  });

  it('accepts results that are null, empty or in parts, and user messages after them', async () => {
    await paused('contents', 'p1', 'p2', 'p3');
    stage.model.enqueue(textReply(['fine']));
    await stage.client.ask(
      continueWith(
        called(ask('p1', 'x'), ask('p2', 'x'), ask('p3', 'x')),
        { role: 'tool', tool_call_id: 'p1', content: null },
        result('p2', ''),
        {
          role: 'tool',
          tool_call_id: 'p3',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
        user('and hurry'),
      ),
      strict('contents'),
    );
    expect(stage.model.requests.at(-1)?.json['messages']).toMatchObject([
      { role: 'system' },
      { role: 'user', content: 'weather?' },
      { role: 'assistant' },
      { role: 'tool', tool_call_id: 'p1', content: '' },
      { role: 'tool', tool_call_id: 'p2', content: '' },
      { role: 'tool', tool_call_id: 'p3', content: 'ab' },
      { role: 'user', content: 'and hurry' },
    ]);
  });

  it('pauses repeatedly with earlier rounds in the history', async () => {
    const rounds = ['r1', 'r2', 'r3'];
    const history: Parameters<typeof withTools>[0][number][] = [user('weather?')];
    for (const id of rounds) {
      stage.model.enqueue(toolCallReply([ask(id, 'Rome')]));
      const reply = await stage.client.ask(withTools(history));
      expect(reply.json).toMatchObject({ choices: [{ finish_reason: 'tool_calls', message: { content: null } }] });
      history.push(called(ask(id, 'Rome')), result(id, `result of ${id}`));
    }
    stage.model.enqueue(textReply(['warm']));
    const last = await stage.client.ask(withTools(history, { stream: true }));
    expect(contentOf(last.text)).toBe('warm');
    const { json } = stage.model.requests.at(-1) ?? {};
    expect((json?.['messages'] as { role: string }[]).map(({ role }) => role)).toEqual([
      'system',
      'user',
      ...rounds.flatMap(() => ['assistant', 'tool']),
    ]);
  });

  it('counts the tokens of its own response, not of earlier ones', async () => {
    stage.model.enqueue(
      toolCallReply([ask('u1', 'Rome')], { usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } }),
    );
    const first = await stage.client.ask(withTools([user('hi')]));
    expect(first.json['usage']).toEqual({ prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 });
    stage.model.enqueue(textReply(['x'], { usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 } }));
    const second = await stage.client.ask(withTools([user('hi'), called(ask('u1', 'Rome')), result('u1', '1')]));
    expect(second.json['usage']).toEqual({ prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 });
  });

  it('returns the tool calls as the model wrote them', async () => {
    stage.model.enqueue(toolCallReply([{ id: 'bad', name: 'get_weather', arguments: '{"city": ' }]));
    const reply = await stage.client.ask(withTools([user('hi')]));
    expect(reply.json).toMatchObject({
      choices: [{ message: { tool_calls: [{ id: 'bad', function: { arguments: '{"city": ' } }] } }],
    });
  });

  it('passes a function schema to the provider unchanged, also one that the server cannot compile', async () => {
    const parameters = { type: ['object', 'null'], properties: { city: { type: 'town', pattern: '(?<=x)(' } } };
    const odd = { type: 'function', function: { name: 'get_weather', parameters } };
    stage.model.enqueue(toolCallReply([ask('odd', 'Rome')]));
    const reply = await stage.client.ask(withTools([user('hi')], { tools: [odd] }));
    expect(reply.json).toMatchObject({ choices: [{ message: { tool_calls: [{ id: 'odd' }] } }] });
    expect(stage.model.requests.at(-1)?.json['tools']).toMatchObject([{}, odd]);
  });

  it('lets the server run its own tools first', async () => {
    stage.model.enqueue(
      toolCallReply([ask('m1', 'Rome'), { id: 'sum', name: 'add_numbers', arguments: '{"a":1,"b":2}' }]),
    );
    const reply = await stage.client.ask(withTools([user('hi')], { stream: true }));
    expect(reply.text).toContain(': running add_numbers\n\n');
    const calls = chunksOf(reply.text).filter((chunk) => JSON.stringify(chunk).includes('tool_calls":['));
    expect(calls).toHaveLength(1);
    stage.model.enqueue(textReply(['3, and warm']));
    await stage.client.ask(withTools([user('hi'), called(ask('m1', 'Rome')), result('m1', 'warm')]));
    expect(stage.model.requests.at(-1)?.json['messages']).toMatchObject([
      {},
      {},
      { tool_calls: [{ id: 'm1' }, { id: 'sum' }] },
      { tool_call_id: 'm1', content: 'warm' },
      { tool_call_id: 'sum', content: '3' },
    ]);
  });

  it('selects the tool of the agent when the agent and the request define the same name', async () => {
    stage.model.enqueue(textReply(['ok']));
    const both = { type: 'function', function: { name: 'add_numbers' } };
    const reply = await stage.client.ask(withTools([user('hi')], { tools: [both] }));
    expect(reply.headers['x-ignored']).toBe('tools.add_numbers');
    const { tools } = stage.model.requests.at(-1)?.json as { tools: { function: { parameters?: object } }[] };
    expect(tools).toHaveLength(1);
    expect(tools[0]?.function.parameters).toBeDefined();
  });

  it('fails when the client sends no results before the deadline', async () => {
    await paused('expiry', 'e1');
    await stage.database.postgres.withWorkspaceSql(stage.owner.principal.workspaceId, (client) =>
      client.query(`UPDATE interrupt SET expires_at = clock_timestamp() - interval '1 s' WHERE call_id = 'e1'`),
    );
    await eventually('the job has failed', async () => {
      await stage.test.api.app.get(InterruptTimers).sweep();
      const { rows } = await stage.database.postgres.withWorkspaceSql(stage.owner.principal.workspaceId, (client) =>
        client.query<{ reason: string }>(
          `SELECT j.reason FROM job j JOIN openai_answer a ON a.job_id = j.id WHERE a.session_id = 'expiry' AND j.status = 'failed'`,
        ),
      );
      return rows[0]?.reason === 'client_tool_expired' ? true : undefined;
    });
    const reply = await stage.client.ask(continueWith(called(ask('e1', 'x')), result('e1', 'late')), strict('expiry'));
    expect([reply.status, messageOf(reply)]).toEqual([400, 'No pending tool run exists for these tool results']);
  });
});
