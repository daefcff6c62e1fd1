import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { toolCallReply } from '../harness/scripted-reply.js';
import { publish, sketch } from '../harness/workflows.js';

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

describe('workflows as tools over GraphQL', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let api: TestApi;
  let people: Record<'owner' | 'admin' | 'member' | 'viewer', TestMember>;
  let admin: GraphqlMember;
  let member: GraphqlMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
    people = await api.people.workspaceOf('lines');
    admin = graphqlMember(api, people.admin.key);
    member = graphqlMember(api, people.member.key);
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
  const run = async (who: GraphqlMember, text: string, variables?: object) =>
    (await who.query(text, variables)) as Found;
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
      const [below] = job['subJobs'] as readonly Found[];
      return below?.['status'] === 'WAITING' && job['status'] === 'WAITING' ? job : undefined;
    });
    return { jobId, tool, line };
  };

  it('show the job of a call, its parent and its sub-jobs', async () => {
    const { jobId, tool, line } = await waiting('shown');
    const [below] = line['subJobs'] as readonly Found[];
    const id: unknown = below?.['id'];
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
