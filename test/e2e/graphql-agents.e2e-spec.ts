import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { publish, sketch } from '../harness/workflows.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
});
afterEach(() => {
  model.assertDone();
});
afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

type Found = Readonly<Record<string, any>>; // eslint-disable-line @typescript-eslint/no-explicit-any -- tests know what they asked for
const run = async (who: GraphqlMember, text: string, variables?: object) => (await who.query(text, variables)) as Found;

describe('agents:', () => {
  const payload = `{ agent { id slug name version isDefault instructions tools limits { maxRounds } parameters toolApproval archivedAt }
  userErrors { code field message } }`;

  const mutation = (name: string, input: string) =>
    `mutation($input: ${input}!) { result: ${name}(input: $input) ${payload} }`;

  const CREATE = mutation('createAgent', 'CreateAgentInput');

  const UPDATE = mutation('updateAgent', 'UpdateAgentInput');

  const RESTORE = mutation('restoreAgentVersion', 'RestoreAgentVersionInput');

  const ARCHIVE = mutation('archiveAgent', 'AgentRefInput');

  const DEFAULT = mutation('setDefaultAgent', 'AgentRefInput');

  const LIST = `query($after: String) { agents(first: 1, after: $after) { nodes { slug } pageInfo { hasNextPage endCursor } } }`;

  const ONE = `query($id: ID!) { agent(id: $id) { id slug }
  agentVersions(agentId: $id, first: 10) { nodes { number instructions hash } } }`;

  const START = `mutation($input: StartChatInput!) { startChat(input: $input) { job { id agent { slug } } userErrors { code field message } } }`;

  const JOB = `query($id: ID!) { job(id: $id) { status content model agent { id version name slug } rounds { number } } }`;

  let people: Record<'admin' | 'member', TestMember>;
  let admin: GraphqlMember;
  let member: GraphqlMember;

  const change = async (text: string, input: object, who = admin) =>
    (await run(who, text, { input }))['result'] as Found;

  const ended = (id: string) =>
    eventually('the job has ended', async () => {
      const job = (await run(member, JOB, { id }))['job'] as Found;
      return ['COMPLETED', 'FAILED'].includes(job['status'] as string) ? job : undefined;
    });

  const start = async (input: object) => (await run(member, START, { input }))['startChat'] as Found;

  beforeEach(async () => {
    people = await api.people.workspaceOf(`agents-${newId()}`);
    admin = graphqlMember(api, people.admin.key);
    member = graphqlMember(api, people.member.key);
  });

  describe('createAgent with upsert', () => {
    const SAVE = `mutation($input: CreateAgentInput!) {
    result: createAgent(input: $input) { agent { id version name slug description } userErrors { code field } } }`;

    it('creates an agent once, updates it by slug or name, and adds no version without a change', async () => {
      const input = { name: 'Support clerk', slug: 'support', instructions: 'Be kind.', upsert: true };
      const save = async (given: object) => (await change(SAVE, given))['agent'] as Found;
      const made = await save(input);
      expect(await save(input)).toEqual(made);
      const changed = await save({ ...input, name: 'Clerk', instructions: 'Be brief.' });
      const id: unknown = made['id'];
      expect(changed).toMatchObject({ id, version: 2, name: 'Clerk' });
      const named = await save({ name: 'Clerk', description: 'Answers mail', upsert: true });
      expect(named).toMatchObject({ id, slug: 'support', description: 'Answers mail' });
      expect(await change(SAVE, { ...input, upsert: false })).toMatchObject({ userErrors: [{ code: 'conflict' }] });
    });
  });

  describe('the API', () => {
    it('creates, updates, restores and archives an agent, and sets the default agent', async () => {
      const made = await change(CREATE, {
        name: 'Clerk',
        instructions: 'One.',
        limits: { maxRounds: 3, roundTimeoutMs: null },
      });
      expect(made).toMatchObject({
        ...{ userErrors: [], agent: { slug: 'clerk', version: 1, isDefault: true, limits: { maxRounds: 3 } } },
      });
      const changed = await change(UPDATE, {
        id: 'clerk',
        instructions: 'Two.',
        parameters: { temperature: 0 },
        model: null,
      });
      expect(changed['agent']).toMatchObject({ version: 2, instructions: 'Two.', parameters: { temperature: 0 } });
      expect((await change(RESTORE, { id: 'clerk', version: 1 }))['agent']).toMatchObject({
        version: 3,
        instructions: 'One.',
      });
      await change(CREATE, { name: 'Ada' });
      expect((await change(DEFAULT, { id: 'ada' }))['agent']).toMatchObject({ isDefault: true });
      const shown = await run(member, ONE, { id: 'Clerk' });
      expect(shown).toMatchObject({
        agent: { slug: 'clerk' },
        agentVersions: { nodes: [{ number: 3 }, { number: 2 }, { number: 1 }] },
      });
      const { agents } = (await run(member, LIST, {})) as { agents: { pageInfo: { endCursor: string } } };
      expect(agents).toMatchObject({ nodes: [{ slug: 'ada' }], pageInfo: { hasNextPage: true } });
      const rest = await run(member, LIST, { after: agents.pageInfo.endCursor });
      expect(rest).toMatchObject({ agents: { nodes: [{ slug: 'clerk' }], pageInfo: { hasNextPage: false } } });
      expect((await change(ARCHIVE, { id: 'clerk' }))['agent']).toMatchObject({ archivedAt: expect.any(String) });
      expect(await run(member, `query { agent(id: "clerk") { id } }`)).toEqual({ agent: null });
    });

    it('rejects a request with an invalid field or without permission', async () => {
      const refused = await change(CREATE, { name: 'Clerk', parameters: { temperature: 9 } });
      expect(refused).toMatchObject({
        agent: null,
        userErrors: [{ code: 'bad_request', field: 'parameters.temperature' }],
      });
      expect(await change(CREATE, { name: 'Clerk', tools: ['nothing_like_it'] })).toMatchObject({
        userErrors: [{ code: 'bad_request', field: 'tools' }],
      });
      await expect(change(CREATE, { name: 'Clerk' }, member)).rejects.toThrow(
        /cannot manage agents\. Ask an owner or admin/,
      );
    });

    it('runs an agent in a chat, and names the agent of the job', async () => {
      await change(CREATE, { name: 'Clerk', instructions: 'Be a clerk.', model: 'clever' });
      model.enqueue(textReply(['Filed.']));
      const started = await start({ message: 'File it.', agent: { id: 'clerk' } });
      expect(started).toMatchObject({ userErrors: [], job: { agent: { slug: 'clerk' } } });
      const { id } = started['job'] as { id: string };
      expect(await ended(id)).toMatchObject({
        content: 'Filed.',
        model: 'clever',
        agent: { version: 1, name: 'Clerk' },
      });
      model.assertDone();
    });

    it('lets the job choose an agent and logs the choice', async () => {
      expect(await start({ message: 'Hi', agent: { auto: true } })).toMatchObject({
        userErrors: [{ code: 'no_agents', field: 'agent', message: 'No agents configured for auto-routing' }],
      });
      await change(CREATE, { name: 'Clerk' });
      await change(CREATE, { name: 'Cook', description: 'Cooks.' });
      const choice = JSON.stringify({ route_id: 'cook', reasoning: 'Soup.' });
      model.enqueue(toolCallReply([{ id: 'r', name: 'select_route', arguments: choice }]), textReply(['Soup.']));
      const { id } = (await start({ message: 'Soup?', agent: { auto: true } }))['job'] as { id: string };
      expect(await ended(id)).toMatchObject({ content: 'Soup.', agent: { slug: 'cook' }, rounds: [{ number: 1 }] });
      const asked = await start({ message: 'Soup?', agent: { auto: true, id: 'cook' } });
      expect(asked).toMatchObject({ userErrors: [{ code: 'bad_request', field: 'agent' }] });
      model.assertDone();
    });

    it('runs an agent in REST jobs too', async () => {
      await change(CREATE, { name: 'Clerk', instructions: 'Be a clerk.' });
      model.enqueue(textReply(['Filed.']));
      const body = {
        _threadId: 't',
        _messageId: 'm',
        messages: [{ role: 'user', content: 'File it.' }],
        agent: 'clerk',
      };
      const reply = await api.call('POST', '/api/jobs', { key: people.member.key, body });
      expect(reply.status).toBe(202);
      expect(await ended((reply.body as { jobId: string }).jobId)).toMatchObject({ agent: { slug: 'clerk' } });
      const unknown = { ...body, _messageId: 'n', agent: 'unknown' };
      expect(await api.call('POST', '/api/jobs', { key: people.member.key, body: unknown })).toMatchObject({
        status: 404,
      });
      model.assertDone();
    });
  });
});

describe('workflows as tools over GraphQL', () => {
  const OFFER = `mutation($id: ID!, $offered: Boolean!) {
  offerWorkflowAsTool(input: { id: $id, offered: $offered }) { workflow { offeredAsTool toolName } userErrors { code } }
}`;

  const TOOLS = '{ tools { name } }';

  const START = 'mutation($tool: String!) { startChat(input: { message: "Go", tools: [$tool] }) { jobId } }';

  const JOB = `query($id: ID!) { job(id: $id) {
  status depth parent { id } subJobs { id depth parentJobId status parent { id } }
  toolCalls { name status subJob { id status } }
} }`;

  const CANCEL = `mutation($id: ID!) { cancelJob(input: { jobId: $id }) { state stoppedSubJobs job { status } } }`;

  let people: Record<'owner' | 'admin' | 'member' | 'viewer', TestMember>;
  let admin: GraphqlMember;
  let member: GraphqlMember;

  beforeAll(async () => {
    people = await api.people.workspaceOf('lines');
    admin = graphqlMember(api, people.admin.key);
    member = graphqlMember(api, people.member.key);
  });

  const asking = async (name: string) => {
    const nodes = { q: { type: 'approval', prompt: 'Well?' } };
    return (await publish(api.api, people.owner.principal, sketch(nodes, ['start -> q'], { name }))).id;
  };
  const toolNames = async () => {
    const { tools } = await run(member, TOOLS);
    return (tools as readonly { name: string }[]).map(({ name }) => name);
  };

  it('require the permission to manage workflows to be offered or withdrawn', async () => {
    const id = await asking('Quarterly report');
    const { errors } = await ask(api, OFFER, { key: people.member.key, variables: { id, offered: true } });
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    expect(await toolNames()).not.toContain('workflow.quarterly-report');
    const workflow = { offeredAsTool: true, toolName: 'workflow.quarterly-report' };
    const offered = await run(admin, OFFER, { id, offered: true });
    expect(offered).toMatchObject({ offerWorkflowAsTool: { workflow, userErrors: [] } });
    expect(await toolNames()).toContain('workflow.quarterly-report');
    await run(admin, OFFER, { id, offered: false });
    expect(await toolNames()).not.toContain('workflow.quarterly-report');
  });

  it('keep a slug from an earlier release, and no other workflow gets it', async () => {
    const id = await asking('Old_Name');
    await database.postgres.withWorkspaceSql(people.owner.principal.workspaceId, (client) =>
      client.query(`UPDATE workflow SET tool_slug = 'old-name' WHERE id = $1`, [id]),
    );
    const offered = await run(admin, OFFER, { id, offered: true });
    expect(offered).toMatchObject({ offerWorkflowAsTool: { workflow: { toolName: 'workflow.old-name' } } });
    const other = await asking('old name');
    await run(admin, OFFER, { id: other, offered: true });
    const old = (await toolNames()).filter((name) => name.startsWith('workflow.old'));
    expect(old).toEqual(['workflow.old-name', `workflow.old-name-${other.slice(-6)}`]);
  });

  /** A chat whose call has become a job that waits for a person; it waits for that job, and no worker stops with it. */
  const waiting = async (name: string) => {
    await run(admin, OFFER, { id: await asking(name), offered: true });
    const tool = `workflow.${name}`;
    model.enqueue(toolCallReply([{ id: 'call_1', name: tool, arguments: '{"input":"Hello"}' }]));
    const { startChat } = await run(member, START, { tool });
    const jobId = (startChat as Found)['jobId'] as string;
    const line = await eventually('the call is a job, and both wait', async () => {
      const { job } = (await run(member, JOB, { id: jobId })) as { job: Found };
      const [child] = job['subJobs'] as readonly Found[];
      return child?.['status'] === 'WAITING' && job['status'] === 'WAITING' ? job : undefined;
    });
    return { jobId, tool, line };
  };

  it('show the job of a call, its parent and its sub-jobs', async () => {
    const { jobId, tool, line } = await waiting('shown');
    const [child] = line['subJobs'] as readonly Found[];
    const id: unknown = child?.['id'];
    expect(line).toEqual({
      ...{ status: 'WAITING', depth: 0, parent: null },
      subJobs: [{ id, depth: 1, parentJobId: jobId, status: 'WAITING', parent: { id: jobId } }],
      toolCalls: [{ name: tool, status: 'RUNNING', subJob: { id, status: 'WAITING' } }],
    });
    const { cancelJob } = await run(member, CANCEL, { id: jobId });
    expect(cancelJob).toEqual({ state: 'ABORTED', stoppedSubJobs: 1, job: { status: 'CANCELLED' } });
    const { job } = (await run(member, JOB, { id: jobId })) as { job: Found };
    expect(job['subJobs']).toMatchObject([{ status: 'CANCELLED' }]);
  });

  it('end with their parent job when REST cancels it, which returns their number', async () => {
    const { jobId } = await waiting('stopped');
    const { status, body } = await api.call('POST', `/api/jobs/${jobId}/abort`, { key: people.member.key });
    expect([status, body]).toEqual([200, { aborted: true, state: 'aborted', status: 'aborted', stoppedSubJobs: 1 }]);
  });
});
