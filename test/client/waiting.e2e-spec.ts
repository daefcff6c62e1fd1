import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { clientTool, createNightshift, type Interrupt, JobWaitingError, type Nightshift } from '@nightshift/client';
import { z } from 'zod';

import { WorkflowsService } from '#workflows';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
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
  owner = (await api.people.workspaceOf('waiting')).owner;
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

const calls = (name: string, args: object) => {
  model.enqueue(toolCallReply([{ id: 'c', name, arguments: JSON.stringify(args) }]));
};
const needsApproval = {
  message: 'Sum',
  serverTools: ['calculate'],
  toolApproval: { rules: [{ match: 'calculate', action: 'require_approval' }] },
};

async function waitingError(promise: Promise<unknown>): Promise<JobWaitingError> {
  const error: unknown = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof JobWaitingError) return error;
  throw new Error(`no JobWaitingError: ${String(error)}`);
}

describe('NightshiftClient text() of a waiting job', () => {
  it('rejects with the open request and its deciders, and resolves once it is answered', async () => {
    calls('calculate', { expression: '6 * 7' });
    const job = await client.startChat(needsApproval);
    const error = await waitingError(job.text());
    expect(error).toMatchObject({
      ...{ name: 'NightshiftError', code: 'job_waiting', retryable: true },
      request: { jobId: job.id, kind: 'TOOL_APPROVAL', decidableBy: 'REQUESTER', mayDecide: true, tool: 'calculate' },
      message: expect.stringMatching(/waits: .*tool_approval, for the requester .*includes you.*onApproval/),
    });
    expect((await waitingError(client.job(job.id).result())).request.id).toBe(error.request.id);
    model.enqueue(textReply(['42']));
    const { argumentsHash } = error.request.request as { argumentsHash: string };
    await client.interrupts.resolve({ id: error.request.id, decision: 'APPROVE', argumentsHash });
    expect(await job.text()).toBe('42');
  });

  it('keeps waiting with onWaiting, which is called once for each request', async () => {
    calls('ask_person', { question: 'Which size?' });
    const job = await client.startChat({ message: 'Order', serverTools: ['ask_person'] });
    const seen: string[] = [];
    const text = job.text({
      onWaiting: ({ id, kind }: Interrupt) => {
        seen.push(kind);
        model.enqueue(textReply(['An M.']));
        void client.interrupts.resolve({ id, action: 'SUBMIT', data: 'M' });
      },
    });
    expect(await text).toBe('An M.');
    expect(seen).toEqual(['HUMAN_INPUT']);
  });

  it('rejects when a client tool call is open that this client does not run', async () => {
    calls('here', {});
    const job = await client.startChat({ message: 'Go', clientTools: [{ name: 'here' }] } as never);
    expect(await waitingError(job.text())).toMatchObject({ request: { kind: 'CLIENT_TOOL', tool: 'here' } });
    await job.cancel();
  });

  it('rejects with the open request of a sub-job', async () => {
    const document = sketch({ q: { type: 'approval', prompt: 'Well?' } }, ['start -> q'], { name: 'asks' });
    const { id } = await publish(api.api, owner.principal, document);
    await api.api.app.get(WorkflowsService).offerAsTool(owner.principal, id, true);
    calls('workflow.asks', { input: 'Hello' });
    const job = await client.startChat({ message: 'Go', serverTools: ['workflow.asks'] });
    const { request } = await waitingError(job.result());
    expect(request).toMatchObject({ kind: 'HUMAN_INPUT', rootJobId: job.id });
    expect(request.jobId).not.toBe(job.id);
    expect((await waitingError(client.job(job.id).result())).request.id).toBe(request.id);
    await job.cancel();
  });
});

describe('clientTool', () => {
  it('declares the JSON Schema of a zod schema and runs with typed arguments', async () => {
    calls('count', { text: 'to be', times: 2 });
    model.enqueue(textReply(['Four.']));
    const count = clientTool({
      description: 'Counts',
      parameters: z.object({ text: z.string(), times: z.number().int() }),
      run: ({ text, times }) => text.split(' ').length * times,
    });
    const job = await client.startChat({ message: 'Count', tools: { count } });
    expect(await job.text()).toBe('Four.');
    expect(JSON.stringify(model.requests.at(-1)?.json['tools'])).toContain('"times":{"type":"integer"');
    expect(JSON.stringify(model.requests.at(-1)?.json['messages'])).toContain('"content":"4"');
  });
});
