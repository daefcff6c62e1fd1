import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { AgentsService } from '#chat';

import { chunksOf, type CompletionReply, contentOf } from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { defaultUsage, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { publish, sketch } from '../harness/workflows.js';

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

const contentOfWhole = ({ json }: CompletionReply) =>
  (json as { choices?: [{ message: { content: string } }] }).choices?.[0].message.content;
const lastAsked = () => stage.model.requests.at(-1)?.json ?? {};
const rows = async <Row extends object>(sql: string, values: readonly unknown[]) =>
  stage.database.postgres.withWorkspaceSql(
    stage.owner.principal.workspaceId,
    async (client) => (await client.query<Row>(sql, [...values])).rows,
  );

describe('/v1 model of the provider', () => {
  it('runs with the tools of the client and none of the server', async () => {
    stage.model.enqueue(textReply(['plain']));
    const reply = await stage.client.ask(withTools([user('hi')], { model: 'scripted', temperature: 0.5 }));
    expect(reply.json).toMatchObject({ model: 'scripted', choices: [{ message: { content: 'plain' } }] });
    expect(lastAsked()).toMatchObject({
      model: 'scripted',
      temperature: 0.5,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ function: { name: 'get_weather' } }],
    });
  });
});

describe('/v1 model auto', () => {
  it('returns the name of the chosen agent and keeps it', async () => {
    const agents = stage.test.api.app.get(AgentsService);
    await agents.create(stage.owner.principal, { name: 'Poet', description: 'Writes verse.' });
    const route = (name: string) => {
      stage.model.answer(({ json }) => {
        const tool = (json['tools'] as { function: { name: string; parameters: object } }[] | undefined)?.[0];
        const isRouting = JSON.stringify(json).includes('Writes verse.');
        if (!isRouting || tool === undefined) return undefined;
        return toolCallReply([
          { id: '', name: tool.function.name, arguments: JSON.stringify({ agent: name, route: name }) },
        ]);
      });
    };
    route('poet');
    stage.model.answer(({ json }) =>
      JSON.stringify(json).includes('Writes verse.') ? undefined : textReply(['a verse']),
    );
    const reply = await stage.client.ask(plain('a verse, please', { model: 'auto', stream: true }));
    expect(contentOf(reply.text)).toContain('a verse');
    const models = new Set(chunksOf(reply.text).map(({ model }) => model));
    expect(models.size).toBe(1);
    expect([...models][0]).not.toBe('auto');
  });

  it('includes the usage of the choice', async () => {
    const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = defaultUsage;
    const reply = await stage.client.ask(plain('another verse, please', { model: 'auto' }));
    expect(reply.json).toMatchObject({
      usage: { prompt_tokens: 2 * prompt, completion_tokens: 2 * completion, total_tokens: 2 * total },
    });
  });
});

describe('/v1 model of a workflow', () => {
  it('takes the last user message as prompt and the earlier messages as history', async () => {
    const nodes = { work: { type: 'agent', model: 'scripted', prompt: 'You work.' } };
    const definition = sketch(nodes, ['start -> work'], { name: 'Work' });
    const { app } = stage.test.api;
    await publish({ app }, stage.owner.principal, definition);
    stage.model.answer(() => textReply(['the work']));
    const messages = [user('before'), { role: 'assistant', content: 'reply' }, user('now')];
    for (const prefix of ['workflow', 'team']) {
      const model = `${prefix}/work`;
      const reply = await stage.client.ask({ model, messages, tools: [{ type: 'function', function: { name: 'x' } }] });
      expect(reply.json).toMatchObject({
        model,
        choices: [{ message: { content: 'the work' }, finish_reason: 'stop' }],
      });
      expect(reply.headers['x-ignored']).toBe('tools');
      const streamed = await stage.client.ask({ model, messages, stream: true }, { 'x-session-id': `wf-${prefix}` });
      expect(contentOf(streamed.text)).toBe('the work');
      const [job] = await rows<{ prompt: string; history: object[] }>(
        `SELECT input->>'prompt' AS prompt, input->'history' AS history FROM job WHERE id = $1`,
        [reply.headers['x-job-id']],
      );
      expect(job).toMatchObject({ prompt: 'now', history: [{ content: 'before' }, { content: 'reply' }] });
    }
    const unknown = await stage.client.ask({ model: 'team/unknown', messages });
    expect(unknown.json['error']).toMatchObject({
      message: expect.stringContaining("Team 'unknown' not found"),
      code: 'model_not_found',
    });
  });
});

describe('fields and history of a /v1 request', () => {
  it('store user, metadata and store with the response', async () => {
    stage.model.enqueue(textReply(['ok']));
    const notes = { user: 'u-1', metadata: { a: 'b' }, store: true };
    const reply = await stage.client.ask(plain('hi', { ...notes, unknown_field: 1 }));
    expect(reply.headers['x-ignored']).toBe('unknown_field');
    expect(await rows('SELECT about FROM openai_answer WHERE job_id = $1', [reply.headers['x-job-id']])).toEqual([
      { about: notes },
    ]);
  });

  it('turn earlier tool blocks into calls when they belong to the session', async () => {
    const headers = { 'x-tool-event-format': 'open-webui', 'x-session-id': 'webui' };
    stage.model.enqueue(
      toolCallReply([{ id: 'call_sum', name: 'add_numbers', arguments: '{"a":1,"b":2}' }]),
      textReply(['It is 3.']),
    );
    const first = await stage.client.ask(plain('add'), headers);
    const shown = String(contentOfWhole(first));
    expect(shown).toContain('<details type="tool_calls" done="true" id="call_sum" name="add_numbers"');
    stage.model.enqueue(textReply(['Yes.']));
    const messages = [user('add'), { role: 'assistant', content: shown }, user('sure?')];
    await stage.client.ask({ model: 'helper', messages }, headers);
    expect(lastAsked()['messages']).toMatchObject([
      { role: 'system' },
      { role: 'user', content: 'add' },
      { role: 'assistant', tool_calls: [{ id: 'call_sum', function: { name: 'add_numbers' } }] },
      { role: 'tool', tool_call_id: 'call_sum', content: '3' },
      { role: 'assistant', content: expect.stringContaining('It is 3.') },
      { role: 'user', content: 'sure?' },
    ]);
    const elsewhere = { ...headers, 'x-session-id': 'elsewhere' };
    stage.model.enqueue(textReply(['What?']));
    await stage.client.ask({ model: 'helper', messages }, elsewhere);
    expect(JSON.stringify(lastAsked()['messages'])).not.toContain('call_sum');
    // Of a conversation that has gone on for very long, the newest answers are looked through.
    const answers = (count: number) =>
      rows(
        `WITH one AS (SELECT * FROM openai_answer WHERE session_id = 'webui' ORDER BY id LIMIT 1),
         jobs AS (INSERT INTO job (workspace_id, id, kind, status, principal, model, input, finished_at)
           SELECT workspace_id, uuidv7(), 'chat', 'failed', principal, '', '{}', now() FROM one, generate_series(1, $1) RETURNING id)
         INSERT INTO openai_answer (workspace_id, id, job_id, principal, session_id, model, format)
         SELECT one.workspace_id, jobs.id, jobs.id, one.principal, one.session_id, one.model, one.format FROM one, jobs`,
        [count],
      );
    for (const [count, isFound] of [
      [490, true],
      [20, false],
    ] as const) {
      await answers(count);
      stage.model.enqueue(textReply(['Yes.']));
      await stage.client.ask({ model: 'helper', messages }, headers);
      expect(JSON.stringify(lastAsked()['messages']).includes('call_sum')).toBe(isFound);
    }
  });

  it('start a new run for a plain history with tools', async () => {
    stage.model.enqueue(textReply(['new']));
    const history = [
      user('one'),
      called(ask('old', 'Rome')),
      result('old', '30'),
      { role: 'assistant', content: 'warm' },
    ];
    const reply = await stage.client.ask(withTools([...history, user('two')]));
    expect(contentOfWhole(reply)).toBe('new');
    expect(lastAsked()['messages']).toHaveLength(6);
  });
});
