import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';
import { WorkflowsService } from '#workflows';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { jobIdOf, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply } from '../harness/scripted-reply.js';
import { smallWorkflow, type TestNode, workflowDocument } from '../harness/workflow-documents.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let people: Record<'owner' | 'admin' | 'member' | 'viewer', TestMember>;
let jobs: RestJobs;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
});
beforeEach(async () => {
  people = await api.people.workspaceOf(`workflows-${newId()}`);
  jobs = restJobs(api, people.member.key);
});
afterEach(() => {
  model.assertDone();
});
afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

async function startOf(definition: unknown): Promise<string> {
  const workflows = api.api.app.get(WorkflowsService);
  const { id } = await workflows.import(people.member.principal, { definition, expectedVersion: null });
  await workflows.publish(people.admin.principal, id);
  const body = { workflowId: id, prompt: 'Dear Sir', threadId: newId(), messageId: newId() };
  return jobIdOf(await api.call('POST', '/api/workflows/background', { key: people.member.key, body }));
}
const hitl = (body: object) => api.call('POST', '/api/workflows/hitl', { key: people.member.key, body });
const oneAgent = (data: object): readonly TestNode[] => [{ id: 'writer', data }];

describe('workflow job over REST', () => {
  it('runs and returns its node runs', async () => {
    model.enqueue(textReply(['Yours ', 'truly']));
    const jobId = await startOf(smallWorkflow({ name: 'Letters' }));
    expect(await jobs.ended(jobId)).toMatchObject({
      ...{ status: 'complete', content: 'Yours truly', error: null },
      workflow_state: {
        ...{ executionState: 'completed', executionOrder: ['start', 'writer', 'end'], finalNodeId: 'end' },
        ...{ finalOutput: 'Yours truly', currentNodeId: null, failedNodeId: null, resumeState: null },
        nodeStates: { writer: { status: 'completed', output: 'Yours truly', modelId: 'scripted' } },
        result: { success: true, error: null },
      },
    });
  });

  it('opens a request with the id of the protocol, and continues with its answer', async () => {
    model.enqueue(textReply(['Draft']));
    const hitlOf = { enabled: true, mode: 'review', prompt: 'Fine?' };
    const jobId = await startOf(workflowDocument({ name: 'x' }, oneAgent({ hitl: hitlOf }), ['start -> writer']));
    const requestId = await eventually('the question is open', async () => {
      const { workflow_state: state } = await jobs.status(jobId);
      const [id] = Object.keys((state as { hitlRequests: object }).hitlRequests);
      return id;
    });
    expect(requestId).toMatch(/^hitl_/);
    expect((await hitl({ requestId, jobId, action: 'modify', data: 'Better' })).status).toBe(200);
    expect(await jobs.ended(jobId)).toMatchObject({
      status: 'complete',
      workflow_state: {
        finalOutput: 'Better',
        hitlRequests: {
          [requestId]: { id: requestId, mode: 'review', response: { requestId, action: 'modify', data: 'Better' } },
        },
      },
    });
  });

  it('reruns from the failed node with the finished outputs', async () => {
    model.enqueue(textReply(['One']), { status: 401, body: ['no'] });
    const nodes = [{ id: 'first' }, { id: 'second' }];
    const jobId = await startOf(workflowDocument({ name: 'x' }, nodes, ['start -> first', 'first -> second']));
    const { workflow_state: state } = await jobs.ended(jobId);
    expect(state).toMatchObject({
      ...{ executionState: 'error', failedNodeId: 'second' },
      resumeState: { startNodeId: 'second', nodeOutputs: { start: 'Dear Sir', first: 'One' } },
      result: { success: false, error: { nodeId: 'second' } },
    });
    model.enqueue(textReply(['Two']));
    const { rerunFromNode } = await graphqlMember(api, people.member.key).query(
      'mutation($input: RerunFromNodeInput!) { rerunFromNode(input: $input) { jobId userErrors { message } } }',
      { input: { jobId, nodeId: 'second' } },
    );
    const { jobId: again } = rerunFromNode as { jobId: string }; // asked for above
    expect(await jobs.ended(again)).toMatchObject({ status: 'complete', content: 'Two' });
    expect(JSON.stringify(model.requests.at(-1)?.json['messages'])).toContain('[first]: One');
  });
});
