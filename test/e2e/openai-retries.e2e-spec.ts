import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { AgentsService } from '#chat';
import { defineTool, ToolRegistry } from '#tools';

import { eventually } from '../harness/eventually.js';
import { chunksOf, type CompletionReply, contentOf } from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { createGate, errorReply, type Reply, textReply, toolCallReply } from '../harness/scripted-reply.js';

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

describe('repeated /v1 requests', () => {
  const jobOf = ({ headers }: CompletionReply) => String(headers['x-job-id']);

  const key = (name: string) => ({ 'idempotency-key': name });

  /** Streams `before`, waits, streams `after`. */
  function halves(before: string, after: string): { readonly reply: Reply; readonly open: () => void } {
    const gate = createGate();
    const { body } = textReply([before, after]);
    return {
      reply: { body: [...body.slice(0, 2), gate, ...body.slice(2)] },
      open: () => {
        gate.open();
      },
    };
  }

  async function statusOf(jobId: string): Promise<unknown> {
    const { body } = await stage.test.call('GET', `/api/jobs/${jobId}/status`, { key: stage.owner.key });
    return (body as { status: unknown }).status;
  }

  describe('repeated /v1 request with an idempotency key', () => {
    it('returns the same response, whole or as a stream, after one model request', async () => {
      stage.model.enqueue(textReply(['Hello ', 'there']));
      const first = await stage.client.ask(plain('hi'), key('again'));
      const second = await stage.client.ask(plain('hi'), key('again'));
      expect(second.json).toEqual(first.json);
      const streamed = await stage.client.ask(
        plain('hi', { stream: true, stream_options: { include_usage: true } }),
        key('again'),
      );
      const chunks = chunksOf(streamed.text);
      expect(chunks.map(({ id }) => id)).toEqual(chunks.map(() => first.json['id']));
      expect(chunks.map(({ created }) => created)).toEqual(chunks.map(() => first.json['created']));
      // Role, all text in one piece, the end, the usage.
      expect(chunks).toHaveLength(4);
      expect(contentOf(streamed.text)).toBe('Hello there');
      expect([jobOf(second), jobOf(streamed)]).toEqual([jobOf(first), jobOf(first)]);
    });

    it('joins a running stream: the earlier text in one piece, then the rest', async () => {
      const { reply, open } = halves('One, ', 'two.');
      stage.model.enqueue(reply);
      const first = stage.client.open(plain('count', { stream: true }), key('joined'));
      await first.until('One, ');
      first.leave();
      const second = stage.client.open(plain('count', { stream: true }), key('joined'));
      await second.until('One, ');
      open();
      const { text } = await second.over;
      expect(chunksOf(text).map((chunk) => chunk['choices'])).toMatchObject([
        [{ delta: { role: 'assistant', content: '' } }],
        [{ delta: { content: 'One, ' } }],
        [{ delta: { content: 'two.' } }],
        [{ delta: {}, finish_reason: 'stop' }],
      ]);
    });

    it('starts one job for many concurrent requests', async () => {
      const before = createGate();
      stage.model.enqueue({ ...textReply(['once']), before });
      const open = Array.from({ length: 12 }, (_, i) =>
        stage.client.open(plain('hi', { stream: i % 2 === 0 }), key('many')),
      );
      before.open();
      const replies = await Promise.all(open.map(({ over }) => over));
      expect(new Set(replies.map(jobOf)).size).toBe(1);
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
      for (const { text } of replies) expect(text).toContain('once');
    });

    it('returns a conflict for another body', async () => {
      stage.model.enqueue(textReply(['x']));
      await stage.client.ask(plain('hi'), key('other'));
      const reply = await stage.client.ask(plain('ho'), key('other'));
      expect([reply.status, reply.json]).toEqual([
        422,
        {
          error: {
            message: 'Idempotency-Key was used with a different request body',
            type: 'invalid_request_error',
            param: 'idempotency-key',
            code: 'idempotency_key_mismatch',
          },
        },
      ]);
    });

    it('starts another job under another API key of the same user', async () => {
      const tenant = await stage.tenant('keys');
      stage.model.enqueue(textReply(['one']), textReply(['two']));
      const [one, two] = [
        await stage.client.ask(plain('hi'), key('scoped')),
        await tenant.client.ask(plain('hi'), key('scoped')),
      ];
      expect(jobOf(one)).not.toBe(jobOf(two));
    });

    it('replays its pause, also after the run was continued', async () => {
      const first = withTools([user('weather?')]);
      stage.model.enqueue(toolCallReply([ask('i1', 'Rome')], { text: 'Looking.' }));
      const pause = await stage.client.ask(first, key('pause'));
      expect((await stage.client.ask(first, key('pause'))).json).toEqual(pause.json);
      const next = withTools([user('weather?'), called(ask('i1', 'Rome')), result('i1', '30')]);
      const before = createGate();
      stage.model.enqueue({ ...textReply(['warm']), before });
      const open = [1, 2, 3].map(() => stage.client.open(next, key('next')));
      before.open();
      const [answer, ...same] = await Promise.all(open.map(({ over }) => over));
      expect(answer?.json).toMatchObject({ choices: [{ message: { content: 'warm' } }] });
      for (const { json } of same) expect(json).toEqual(answer?.json);
      expect((await stage.client.ask(first, key('pause'))).json).toEqual(pause.json);
      expect((await stage.client.ask(next, key('next'))).json).toEqual(answer?.json);
      expect((await stage.client.ask(next, key('pause'))).status).toBe(422);
    });

    it('returns the stored text after the deltas were trimmed', async () => {
      stage.model.enqueue(toolCallReply([ask('t1', 'Rome')], { text: 'Looking.' }));
      const first = withTools([user('old?')]);
      const pause = await stage.client.ask(first, key('trimmed'));
      stage.model.enqueue(textReply(['warm']));
      const next = withTools([user('old?'), called(ask('t1', 'Rome')), result('t1', '30')]);
      const answer = await stage.client.ask(next, key('trimmed next'.replace(' ', '-')));
      await stage.database.postgres.withWorkspaceSql(stage.owner.principal.workspaceId, async (client) => {
        await client.query(`DELETE FROM job_event WHERE job_id = $1 AND type LIKE '%-delta'`, [jobOf(pause)]);
        await client.query(`UPDATE job SET deltas_trimmed = true WHERE id = $1`, [jobOf(pause)]);
      });
      expect((await stage.client.ask(first, key('trimmed'))).json).toEqual(pause.json);
      expect((await stage.client.ask(next, key('trimmed-next'))).json).toEqual(answer.json);
    });
  });

  describe('/v1 client that disconnects', () => {
    it('leaves its job running to the end', async () => {
      const { reply, open } = halves('One, ', 'two.');
      stage.model.enqueue(reply);
      const left = stage.client.open(plain('count', { stream: true }));
      await left.until('One, ');
      const jobId = String((await left.begun).headers['x-job-id']);
      left.leave();
      await stage.assertQuiet();
      open();
      await eventually('the job has ended', async () => ((await statusOf(jobId)) === 'complete' ? true : undefined));
    });

    it.each([true, false])('cancels its job when it requested that (stream: %p)', async (stream) => {
      const { reply, open } = halves('One, ', 'two.');
      const count = stage.model.requests.length;
      stage.model.enqueue(reply);
      const left = stage.client.open(plain('count', { stream }), {
        'x-on-disconnect': 'cancel',
        ...key(`gone-${stream}`),
      });
      await stage.model.request(count + 1);
      if (stream) await left.until('One, ');
      const { rows } = await stage.database.postgres.withWorkspaceSql(stage.owner.principal.workspaceId, (client) =>
        client.query<{ id: string }>('SELECT job_id AS id FROM openai_answer WHERE idempotency_key = $1', [
          `gone-${stream}`,
        ]),
      );
      left.leave();
      await eventually('the job is cancelled', async () =>
        (await statusOf(String(rows[0]?.id))) === 'aborted' ? true : undefined,
      );
      open();
    });

    it('cancels nothing after it has received its response', async () => {
      stage.model.enqueue(textReply(['all']));
      const reply = await stage.client.ask(plain('hi', { stream: true }), { 'x-on-disconnect': 'cancel' });
      expect(await statusOf(jobOf(reply))).toBe('complete');
    });
  });
});

describe('retries of /v1 requests', () => {
  let ran: string[] = [];

  beforeAll(async () => {
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
});

describe('/v1 conversations with equal call ids', () => {
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
