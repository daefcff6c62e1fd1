import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';
import { AgentsService } from '#chat';
import { newId } from '#platform';
import { ToolCatalog } from '#tools';
import { WorkflowsService } from '#workflows';

import { ModelDirectory } from '../../apps/api/src/openai/models/model-directory.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { chunksOf, type CompletionReply, contentOf } from '../harness/openai-client.js';
import { ask, called, type OpenAiStage, openAiStage, plain, result, user, withTools } from '../harness/openai-stage.js';
import { defaultUsage, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { smallWorkflow } from '../harness/workflow-documents.js';
import { publish, republish, sketch } from '../harness/workflows.js';

describe('/v1 models:', () => {
  let database: TestDatabase;
  let test: TestApi;
  let here: Record<Role, TestMember>;

  beforeAll(async () => {
    database = await createTestDatabase();
    test = await startTestApi(database, { takesJobs: false });
  });

  beforeEach(async () => {
    here = await test.people.workspaceOf(newId());
  });

  afterAll(async () => {
    await test.close();
    await database.close();
  });

  const agents = () => test.api.app.get(AgentsService);

  const agent = (name: string, description = '') => agents().create(here.owner.principal, { name, description });

  const workflow = (name: string) =>
    publish(test.api, here.owner.principal, smallWorkflow({ name, description: `Does ${name}.` }));

  const get = async (path: string, who: TestMember = here.admin) => {
    const { status, body } = await test.call('GET', path, { key: who.key });
    return { status, body };
  };

  const readOnly = () => test.people.keyOf(here.admin.principal, ['read']);

  const idsOf = async (who: TestMember = here.admin) =>
    ((await get('/v1/models', who)).body as { data: { id: string }[] }).data.map(({ id }) => id);

  const notFound = (message: string) => ({
    status: 404,
    body: {
      error: {
        message,
        ...{ type: 'invalid_request_error', param: 'model', code: 'model_not_found' },
      },
    },
  });

  /** What a request's `model` means. */
  const meaning = (id: string, who = here.admin) => test.api.app.get(ModelDirectory).resolve(who.principal, id);

  describe('GET /v1/models', () => {
    it('lists auto, agents by name, workflows by name, then models of the provider, in the shape of OpenAI', async () => {
      const { createdAt } = await agent('Zoe', 'Knows the zoo.');
      await agent('Ada');
      await workflow('Weekly Report');
      await workflow('Billing');
      const { status, body } = await get('/v1/models');
      const ids = ['auto', 'ada', 'zoe', 'workflow/billing', 'workflow/weekly-report', 'scripted'];
      expect(status).toBe(200);
      expect(body).toMatchObject({
        object: 'list',
        data: ids.map((id) => ({ id, object: 'model', owned_by: 'nightshift' })),
      });
      expect((body as { data: object[] }).data[2]).toEqual({
        ...{ id: 'zoe', object: 'model', created: Math.floor(createdAt / 1_000), owned_by: 'nightshift' },
        ...{ name: 'Zoe', description: 'Knows the zoo.' },
      });
    });

    it('omits drafts, archived agents, and auto without agents', async () => {
      const { id } = await agent('Gone');
      await agents().archive(here.owner.principal, id);
      await workflow('Billing');
      expect(await idsOf()).toEqual(['workflow/billing', 'scripted']);
    });

    it('lists nothing without the right to start jobs, and nothing of other workspaces', async () => {
      await agent('Ada');
      expect(await idsOf(await readOnly())).toEqual([]);
      const elsewhere = await test.people.workspaceOf(newId());
      expect(await idsOf(elsewhere.owner)).toEqual(['scripted']);
    });

    it('lists the models that the workspace allows by name, but no patterns', async () => {
      await test.auth.workspaces.update(here.owner.principal, { directModels: ['gpt-5', 'claude-*'] });
      expect(await idsOf()).toEqual(['scripted', 'gpt-5']);
      expect(await meaning('claude-opus')).toEqual({ type: 'model', name: 'claude-opus' });
      expect((await get('/v1/models/claude-opus')).body).toMatchObject({ id: 'claude-opus' });
    });

    it('requires an API key', async () => {
      const { key } = here.member; // a token: members have no keys here
      const refused = (message: string) => ({
        ...{
          status: 401,
          body: { error: { message, type: 'invalid_request_error', param: null, code: 'invalid_api_key' } },
        },
      });
      expect(await test.call('GET', '/v1/models')).toMatchObject(refused('Missing or invalid Authorization header'));
      expect(await test.call('GET', '/v1/models', { key })).toMatchObject(refused('Invalid API key'));
    });
  });

  describe('model id of a workflow', () => {
    it('stays the same after renames and deletions of others, as a model and as a tool', async () => {
      const { principal } = here.owner;
      const workflows = test.api.app.get(WorkflowsService);
      const [first, second] = [await workflow('Weekly Report'), await workflow('weekly report!')];
      const [plain, marked] = ['weekly-report', `weekly-report-${second.id.slice(-6)}`];
      for (const { id } of [first, second]) await workflows.offerAsTool(principal, id, true);
      const toolsOf = async () =>
        (await test.api.app.get(ToolCatalog).of(principal.workspaceId))
          .list()
          .flatMap(({ name }) => (name.startsWith('workflow.') ? [name] : []));
      expect(await idsOf()).toEqual([`workflow/${plain}`, `workflow/${marked}`, 'scripted']);
      expect(await toolsOf()).toEqual([`workflow.${plain}`, `workflow.${marked}`].toSorted());
      const definition = smallWorkflow({ name: 'Another', description: 'Does it.' });
      await republish(test.api, principal, { id: second.id, definition });
      await workflows.remove(principal, first.id);
      expect(await idsOf()).toEqual([`workflow/${marked}`, 'scripted']);
      expect(await toolsOf()).toEqual([`workflow.${marked}`]);
      expect(await get(`/v1/models/workflow/${plain}`)).toEqual(notFound(`Workflow '${plain}' not found`));
      // Of a deleted one it is free, for one that is made then.
      const third = await workflow('Weekly: Report');
      expect(await meaning(`workflow/${plain}`)).toMatchObject({ workflowId: third.id });
    });
  });

  describe('GET /v1/models/:id', () => {
    it('finds a model by its id, with or without a slash', async () => {
      await agent('Ada');
      await workflow('Billing');
      for (const id of ['auto', 'ada', 'workflow/billing', 'scripted'])
        expect(await get(`/v1/models/${id}`)).toMatchObject({ status: 200, body: { id, object: 'model' } });
      expect((await get('/v1/models/workflow%2Fbilling')).body).toMatchObject({ id: 'workflow/billing' });
      expect((await get('/v1/models/team/billing')).body).toMatchObject({ id: 'workflow/billing' });
    });

    it.each([
      ['unknown', "Model 'unknown' not found"],
      ['auto', "Model 'auto' not found"],
      ['workflow/none', "Workflow 'none' not found"],
      ['team/none', "Team 'none' not found"],
      ['a/b', "Model 'a/b' not found"],
    ])('returns 404 for %s', async (id, message) => {
      expect(await get(`/v1/models/${id}`)).toEqual(notFound(message));
    });

    it('returns 404 to users who may not use the model', async () => {
      await agent('Ada');
      expect(await get('/v1/models/ada', await readOnly())).toEqual(notFound("Model 'ada' not found"));
      const { owner } = await test.people.workspaceOf(newId());
      expect(await get('/v1/models/ada', owner)).toEqual(notFound("Model 'ada' not found"));
    });
  });

  describe('model of a /v1 request', () => {
    it('selects an agent by slug, id or name before a model of that name', async () => {
      const { id } = await agent('Scripted');
      for (const ref of ['scripted', id, 'Scripted'])
        expect(await meaning(ref)).toMatchObject({ type: 'agent', agent: { id, version: 1 } });
      expect(await idsOf()).toEqual(['auto', 'scripted']);
    });

    it('chooses among several agents if it is auto, and uses the only agent without a routing call', async () => {
      await expect(meaning('auto')).rejects.toMatchObject({
        ...{
          status: 500,
          message: 'No agents configured for auto-routing',
          type: 'server_error',
          param: null,
          code: null,
        },
      });
      const { id } = await agent('Ada');
      expect(await meaning('auto')).toMatchObject({ type: 'agent', agent: { id } });
      await agent('Zoe');
      expect(await meaning('auto')).toEqual({ type: 'auto' });
    });

    it('selects a published workflow', async () => {
      const { id } = await workflow('Billing');
      expect(await meaning('workflow/billing')).toMatchObject({ type: 'workflow', workflowId: id, prefix: 'workflow' });
      expect(await meaning('team/billing')).toMatchObject({ type: 'workflow', workflowId: id, prefix: 'team' });
      expect(await meaning(`workflow/${id}`)).toMatchObject({ workflowId: id });
    });
  });
});

describe('targets of /v1 requests:', () => {
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
    it('uses the last user message as prompt and the earlier messages as history', async () => {
      const nodes = { work: { type: 'agent', model: 'scripted', prompt: 'You work.' } };
      const definition = sketch(nodes, ['start -> work'], { name: 'Work' });
      const { app } = stage.test.api;
      await publish({ app }, stage.owner.principal, definition);
      stage.model.answer(() => textReply(['the work']));
      const messages = [user('before'), { role: 'assistant', content: 'reply' }, user('now')];
      for (const prefix of ['workflow', 'team']) {
        const model = `${prefix}/work`;
        const reply = await stage.client.ask({
          model,
          messages,
          tools: [{ type: 'function', function: { name: 'x' } }],
        });
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

  describe('a /v1 request', () => {
    it('stores its user, metadata and store with the response', async () => {
      stage.model.enqueue(textReply(['ok']));
      const notes = { user: 'u-1', metadata: { a: 'b' }, store: true };
      const reply = await stage.client.ask(plain('hi', { ...notes, unknown_field: 1 }));
      expect(reply.headers['x-ignored']).toBe('unknown_field');
      expect(await rows('SELECT about FROM openai_answer WHERE job_id = $1', [reply.headers['x-job-id']])).toEqual([
        { about: notes },
      ]);
    });

    it('labels the job with its metadata, and starts no job if this exceeds the limits of labels', async () => {
      stage.model.enqueue(textReply(['ok']));
      const metadata = { team: 'billing', invoice: '7' };
      const { headers } = await stage.client.ask(plain('hi', { metadata }));
      expect(await rows('SELECT labels FROM job WHERE id = $1', [headers['x-job-id']])).toEqual([{ labels: metadata }]);
      for (const invalid of [{ '': 'x' }, { ['k'.repeat(65)]: 'x' }, { a: 'x'.repeat(513) }, { a: 7 }]) {
        const refused = await stage.client.ask(plain('hi', { metadata: invalid }));
        expect(refused.status).toBe(400);
        expect(refused.headers['x-job-id']).toBeUndefined();
      }
    });

    it('turns earlier tool blocks into calls when they belong to the session', async () => {
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

    it('starts a new run for a plain history with tools', async () => {
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
});
