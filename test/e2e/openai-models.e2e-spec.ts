import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';
import { AgentsService } from '#chat';
import { newId } from '#platform';
import { ToolCatalog } from '#tools';
import { WorkflowsService } from '#workflows';

import { ModelDirectory } from '../../apps/api/src/openai/models/model-directory.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { smallWorkflow } from '../harness/workflow-documents.js';
import { publish, republish } from '../harness/workflows.js';

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

  it('leaves out what cannot be used: drafts, archived agents, auto without agents', async () => {
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

  it('chooses among several agents, and takes the only one without a choice', async () => {
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
