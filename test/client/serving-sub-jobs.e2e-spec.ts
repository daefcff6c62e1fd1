import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createNightshift, type Interrupt, type Nightshift, type OnQuestion } from '@nightshift/client';

import { WorkflowsService } from '#workflows';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { publish, sketch } from '../harness/workflows.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let owner: TestMember;
let client: Nightshift;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  owner = (await api.people.workspaceOf('below')).owner;
  const nodes = { q: { type: 'approval', prompt: 'Well?' } };
  const { id } = await publish(api.api, owner.principal, sketch(nodes, ['start -> q'], { name: 'asks' }));
  await api.api.app.get(WorkflowsService).offerAsTool(owner.principal, id, true);
  client = createNightshift({ url: api.url, token: owner.key });
});
afterEach(() => {
  model.assertDone();
});
afterAll(async () => {
  client.close();
  await api.close();
  await model.close();
  await database.close();
});

const start = (onQuestion?: OnQuestion) => {
  model.enqueue(
    toolCallReply([{ id: 'c', name: 'workflow.asks', arguments: '{"input":"Hello"}' }]),
    textReply(['So.']),
  );
  return client.startChat({ message: 'Go', serverTools: ['workflow.asks'], onQuestion });
};
const yes = () =>
  jest.fn((request: Interrupt) => ({ action: 'APPROVE' as const, reason: `of ${request.rootJobId.slice(0, 1)}` }));

describe('NightshiftClient.serve for sub-jobs', () => {
  it('delivers a question of a sub-job to the client that serves the parent job', async () => {
    const onQuestion = yes();
    const job = await start(onQuestion);
    expect(await job.text()).toBe('So.');
    expect(onQuestion).toHaveBeenCalledTimes(1);
    const [request] = onQuestion.mock.calls[0] ?? [];
    expect(request).toMatchObject({ kind: 'HUMAN_INPUT', rootJobId: job.id });
    expect(request?.jobId).not.toBe(job.id);
  });

  it('delivers a question that was open before the client began to serve', async () => {
    const job = await start();
    await eventually('the job below asks', async () => {
      const { nodes } = await client.interrupts.list({ status: { eq: 'OPEN' } });
      return nodes.find(({ rootJobId }) => rootJobId === job.id);
    });
    const onQuestion = yes();
    await client.job(job.id).serve({ onQuestion });
    expect(await job.text()).toBe('So.');
    expect(onQuestion).toHaveBeenCalledTimes(1);
  });

  it('leaves a question open when no client serves questions, and ends it with the parent job', async () => {
    const onError = jest.fn();
    const onApproval = jest.fn(() => 'deny' as const);
    model.enqueue(toolCallReply([{ id: 'c', name: 'workflow.asks', arguments: '{"input":"Hello"}' }]));
    const job = await client.startChat({ message: 'Go', serverTools: ['workflow.asks'], onApproval, onError });
    const served = client.job(job.id).serve({ onApproval, onError });
    await eventually('the job below asks', async () => {
      const { nodes } = await client.interrupts.list({ status: { eq: 'OPEN' } });
      return nodes.find(({ rootJobId }) => rootJobId === job.id);
    });
    await job.cancel();
    expect(await job.result()).toMatchObject({ status: 'CANCELLED' });
    await served;
    expect([onApproval.mock.calls, onError.mock.calls]).toEqual([[], []]);
  });
});
