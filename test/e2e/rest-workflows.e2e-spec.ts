import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';
import { StartWorkflowService, WorkflowsService } from '#workflows';

import { workflowStateSchema } from '../../libs/workflows/src/api/workflow-state-schema.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { layOutWaitingJob, openInterrupt, type WaitingJob } from '../harness/interrupts.js';
import { layOutNodeRuns } from '../harness/node-runs.js';
import { jobIdOf, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply } from '../harness/scripted-reply.js';
import { smallWorkflow, type TestNode, workflowDocument } from '../harness/workflow-documents.js';

/** The OpenAPI document has each member of the state with its type: parsing removes the others. */
const expectDocumented = (state: unknown) => {
  expect(workflowStateSchema.parse(state)).toEqual(state);
};

describe('workflows over REST:', () => {
  let database: TestDatabase;
  let api: TestApi;
  let people: Record<'owner' | 'admin' | 'member' | 'viewer', TestMember>;

  beforeAll(async () => {
    database = await createTestDatabase();
    api = await startTestApi(database, {
      takesJobs: false,
      env: { WORKFLOW_STARTS_PER_MINUTE: '12', HITL_ANSWERS_PER_MINUTE: '12' },
    });
  });

  beforeEach(async () => {
    people = await api.people.workspaceOf(`workflows-${newId()}`);
  });

  afterAll(async () => {
    await api.close();
    await database.close();
  });

  const workflows = () => api.api.app.get(WorkflowsService);

  const publish = async (definition: unknown) => {
    const { id } = await workflows().import(people.member.principal, { definition, expectedVersion: null });
    return (await workflows().publish(people.admin.principal, id)).workflow;
  };

  const body = (change: object = {}) => ({
    ...{ workflowId: 'w-1', prompt: 'Dear Sir', threadId: newId(), messageId: newId() },
    ...change,
  });

  const start = (given: unknown, key: string | undefined = people.member.key, headers = {}) =>
    api.call('POST', '/api/workflows/background', { ...(key === '' ? {} : { key }), body: given, headers });

  const status = async (jobId: string) =>
    (await api.call('GET', `/api/jobs/${jobId}/status`, { key: people.viewer.key })).body as Record<string, unknown>;

  describe('POST /api/workflows/background', () => {
    it('starts a published workflow and responds in the format of OR3', async () => {
      const document = smallWorkflow({ name: 'Letters', id: 'w-1' });
      const { id, updatedAt } = await publish(document);
      const more = { workflowName: 'Letters', workflowUpdatedAt: updatedAt, workflowVersion: 1, workflow: document };
      const conversationHistory = [{ role: 'user', content: 'before' }];
      const attachments = [{ type: 'file', content: 'QUJD', name: 'a.txt', mimeType: 'text/plain' }];
      const reply = await start(
        body({ ...more, conversationHistory, attachments, unknown: 1, labels: { team: 'billing' } }),
      );
      expect([reply.status, reply.body]).toEqual([200, { jobId: expect.any(String), status: 'streaming' }]);
      expect(reply.headers.get('x-ratelimit-limit')).toBe('12');
      const { jobId } = reply.body as { jobId: string };
      const shown = await status(jobId);
      expectDocumented(shown['workflow_state']);
      expect(shown).toMatchObject({
        ...{ kind: 'workflow', status: 'streaming', labels: { team: 'billing' } },
        workflow_state: {
          ...{ type: 'workflow-execution', workflowId: id, workflowName: 'Letters', prompt: 'Dear Sir', version: 1 },
          ...{ executionState: 'running', nodeStates: {}, executionOrder: [], result: null, resumeState: null },
          attachments: [{ type: 'file', url: expect.stringMatching(/^file:[0-9a-f]{64}$/) }],
          sessionMessages: [...conversationHistory, { role: 'user', content: 'Dear Sir' }],
        },
      });
    });

    it.each([
      [{ workflowId: undefined }, 'Missing workflowId'],
      [{ prompt: '' }, 'Missing prompt'],
      [{ threadId: null }, 'Missing threadId'],
      [{ messageId: undefined }, 'Missing messageId'],
      [{ prompt: 7 }, 'prompt must be a string'],
      [{ workflowName: 7 }, 'workflowName must be a string'],
      [{ workflowUpdatedAt: 'now' }, 'workflowUpdatedAt must be a number'],
      [{ conversationHistory: {} }, 'conversationHistory must be an array'],
      [{ workflow: [] }, 'workflow must be an object'],
      [{ labels: 'billing' }, 'labels must be an object'],
      [{ labels: { team: 1 } }, 'labels.team must be a string'],
      [{ threadId: 'x'.repeat(257) }, 'threadId must be a string of at most 256 characters'],
      [{ workflowVersion: true }, 'workflowVersion must be a number or a string'],
      [{ conversationHistory: ['hi'] }, 'conversationHistory.0 must be an object'],
      [{ startAt: 'soon' }, 'startAt must be a date and time such as 2027-01-31T12:00:00Z'],
      [{ onProviderDown: 'stop' }, 'onProviderDown must be "wait" or "fail"'],
      [{ attachments: [{ type: 'image' }] }, 'Invalid request body: attachments.0 must have a hash, a url or content'],
      [{ resumeFrom: {} }, 'resumeFrom requires a startNodeId'],
      [{ resumeFrom: { startNodeId: '' } }, 'resumeFrom requires a startNodeId'],
      [{ resumeFrom: { startNodeId: 'a', pendingNodes: [1] } }, 'resumeFrom.pendingNodes.0 must be a string'],
      [{ resumeFrom: { startNodeId: 'gone' } }, 'resumeFrom startNodeId is not in this workflow'],
    ])('rejects %j', async (change, error) => {
      await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
      const reply = await start(body(change));
      expect([reply.status, reply.body]).toMatchObject([400, { error, code: 'bad_request' }]);
    });

    it('returns the reason why a workflow cannot start', async () => {
      expect(await start(body())).toMatchObject({
        status: 404,
        body: { error: 'Workflow not found', code: 'not_found' },
      });
      const { updatedAt } = await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
      expect(await start(body({ workflowUpdatedAt: updatedAt + 60_000 }))).toMatchObject({
        status: 409,
        body: { error: 'Workflow is stale on server. Sync and retry.', code: 'workflow_stale' },
      });
      expect(await start(body({ workflowVersion: 2 }))).toMatchObject({
        status: 409,
        body: { error: 'Workflow version mismatch. Refresh and retry.' },
      });
      expect(await start(body({ workflow: smallWorkflow({ name: 'y', id: 'w-1' }) }))).toMatchObject({
        status: 409,
        body: { error: 'Workflow payload mismatch with canonical server definition' },
      });
      expect(await start(body({ prompt: 'x'.repeat(12_001) }))).toMatchObject({
        status: 413,
        body: { error: 'Prompt exceeds 12000 chars', code: 'too_large' },
      });
      expect(await start(body({ prompt: 'x'.repeat(300_000) }))).toMatchObject({
        status: 413,
        body: { error: 'Request body exceeds 262144 bytes' },
      });
      const { owner: stranger } = await api.people.workspaceOf(`others-${newId()}`);
      expect(await start(body(), stranger.key)).toMatchObject({ status: 404, body: { error: 'Workflow not found' } });
      expect(await start(body(), people.viewer.key)).toMatchObject({ status: 403, body: { error: 'Forbidden' } });
      expect(await start(body(), '')).toMatchObject({
        status: 401,
        body: { error: 'Authentication required for background streaming', code: 'unauthenticated' },
      });
    });

    it('names the issues of a workflow that became invalid', async () => {
      const child = await publish(smallWorkflow({ name: 'child', id: 'child' }));
      const data = { subflowId: 'child', inputMappings: { input: '{{input}}' } };
      await publish(workflowDocument({ name: 'x', id: 'w-1' }, [{ id: 's', type: 'subflow', data }], ['start -> s']));
      await workflows().remove(people.admin.principal, child.id);
      expect(await start(body())).toMatchObject({
        status: 422,
        body: {
          error: 'Workflow definition is invalid',
          code: 'workflow_invalid',
          issues: [{ type: 'error', code: 'SUBFLOW_NOT_FOUND', nodeId: 's' }],
        },
      });
    });

    it('starts once per key, as header or in the body', async () => {
      await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
      const given = body({ admissionId: 'a-1' });
      const first = await start(given);
      await publish(smallWorkflow({ name: 'y', id: 'w-1' }));
      const again = await start(given);
      expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([200, first.body, 'true']);
      expect(await start({ ...given, prompt: 'Other' })).toMatchObject({
        status: 422,
        body: { code: 'idempotency_key_mismatch' },
      });
      const byHeader = await start(body(), people.member.key, { 'idempotency-key': 'a-2' });
      const admission = await api.call('GET', '/api/jobs/admission/a-2', { key: people.member.key });
      expect(admission.body).toMatchObject({ jobId: (byHeader.body as { jobId: string }).jobId });
    });

    it('starts at most as often per minute as the limit allows', async () => {
      await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
      for (let i = 0; i < 12; i++) expect((await start(body(), people.admin.key)).status).toBe(200);
      const reply = await start(body(), people.admin.key);
      expect([reply.status, reply.body]).toMatchObject([429, { code: 'rate_limited' }]);
      expect(reply.headers.get('retry-after')).toMatch(/^\d+$/);
    });
  });

  describe('state of a workflow job over REST', () => {
    it('equals the stored rows', async () => {
      const { id } = await publish(smallWorkflow({ name: 'Letters', id: 'w-1' }));
      const { jobId } = await api.api.app.get(StartWorkflowService).start(people.member.principal, {
        ...{
          workflowRef: id,
          version: null,
          prompt: 'Hi',
          threadRef: null,
          createThread: false,
          messageClientId: null,
        },
        ...{ history: [], attachments: [], whenBusy: null, idempotency: null, providerKey: null, known: {} },
        resumeFrom: null,
      });
      const { workspaceId } = people.owner.principal;
      await layOutNodeRuns(database, { workspaceId, jobId, status: 'failed' }, [
        { nodeId: 'start', type: 'start', output: 'Hi' },
        { nodeId: 'several', type: 'parallel', output: 'both', extra: { outputs: { 'several:one': '1' } }, tokens: 7 },
        { nodeId: 'loop', type: 'whileLoop', status: 'completed', output: 'y'.repeat(40_000) },
        { nodeId: 'inside', path: ['loop'], iteration: [1], output: 'first' },
        { nodeId: 'inside', path: ['loop'], iteration: [2], output: 'second' },
        { nodeId: 'writer', status: 'error', error: { code: 'AUTH', message: 'no key', nodeId: 'writer' } },
        { nodeId: 'other', status: 'cancelled' },
      ]);
      const { workflow_state: state, error } = await status(jobId);
      expect(error).toBe('Job failed');
      expect(state).toMatchObject({
        ...{ executionState: 'error', failedNodeId: 'writer', lastActiveNodeId: 'other', finalOutput: '' },
        executionOrder: ['start', 'several', 'loop', 'writer'],
        nodeStates: {
          start: { status: 'completed', label: 'start', type: 'start', output: 'Hi' },
          several: { status: 'completed', tokenCount: 7 },
          inside: { status: 'completed', output: 'second', iteration: [2] },
          writer: { status: 'error', error: 'no key' },
          other: { status: 'skipped' },
        },
        branches: { 'several:one': { id: 'one', status: 'completed', output: '1', toolCalls: [] } },
        resumeState: {
          ...{ startNodeId: 'writer', executionOrder: ['start', 'several', 'loop'], pendingNodes: ['other'] },
          nodeOutputs: { start: 'Hi', several: 'both' },
        },
        result: { success: false, error: null },
      });
      const { nodeOutputs } = state as { nodeOutputs: Record<string, string> };
      expect(nodeOutputs['loop']).toMatch(/\n\[truncated, 40000 bytes in total\]$/);
      expect(Buffer.byteLength(nodeOutputs['loop'] ?? '')).toBeLessThanOrEqual(32_768);
    });
  });

  describe('POST /api/workflows/hitl', () => {
    let job: WaitingJob;
    const requestId = 'hitl_m1_abc';
    const answer = (change: object = {}, key = people.member.key) =>
      api.call('POST', '/api/workflows/hitl', {
        key,
        body: { requestId, jobId: job.jobId, action: 'modify', data: 'better', ...change },
      });
    beforeEach(async () => {
      job = await layOutWaitingJob(api.api.app, people.member.principal);
      const request = { id: requestId, mode: 'review', prompt: 'Fine?', nodeId: 'n1' };
      await openInterrupt(api.api.app, job, { nodeId: 'n1', request });
    });

    it('settles the request with this id once', async () => {
      expect(await answer()).toMatchObject({ status: 200, body: { ok: true } });
      expect(await answer()).toMatchObject({ status: 200, body: { ok: true } });
      expect(await answer({ data: 'worse' })).toMatchObject({
        status: 409,
        body: { error: 'HITL request already answered', code: 'already_answered' },
      });
      const rows = await database.prisma.withWorkspace(people.owner.principal, (tx) =>
        tx.interrupt.findMany({ where: { jobId: job.jobId } }),
      );
      expect(rows).toMatchObject([{ status: 'resolved', outcome: { outcome: 'modify', answer: { data: 'better' } } }]);
      expect(await status(job.jobId)).toMatchObject({ job_status: 'queued' });
    });

    it.each([
      [{ requestId: '' }, 400, 'Missing requestId'],
      [{ jobId: null }, 400, 'Missing jobId'],
      [{ action: undefined }, 400, 'Missing action'],
      [{ action: 'jump' }, 400, 'Invalid action'],
      [{ requestId: 'hitl_other' }, 404, 'HITL request not found'],
      [{ jobId: newId() }, 404, 'HITL request not found'],
      [{ jobId: 'nonsense' }, 404, 'HITL request not found'],
    ])('rejects %j', async (change, expected, error) => {
      for (const { status: code, body } of [await answer(change), await answer(change, people.viewer.key)])
        expect([code, body]).toMatchObject([expected, { error }]);
    });

    it('rejects users who may not answer the request', async () => {
      expect(await answer({}, people.viewer.key)).toMatchObject({ status: 403, body: { code: 'cannot_decide' } });
      const { owner: stranger } = await api.people.workspaceOf(`others-${newId()}`);
      expect(await answer({}, stranger.key)).toMatchObject({ status: 404, body: { error: 'HITL request not found' } });
    });

    it('returns a conflict for an expired request', async () => {
      await database.prisma.withWorkspace(people.owner.principal, (tx) =>
        tx.interrupt.updateMany({ where: { jobId: job.jobId }, data: { expiresAt: new Date(1) } }),
      );
      expect(await answer()).toMatchObject({ status: 410, body: { error: 'HITL request expired', code: 'expired' } });
    });

    it('limits the answers per minute', async () => {
      for (let i = 0; i < 12; i++) await answer({ requestId: 'hitl_other' });
      expect(await answer()).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    });
  });
});

describe('workflow job over REST', () => {
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
    const ended = await jobs.ended(jobId);
    expectDocumented(ended['workflow_state']);
    expect(ended).toMatchObject({
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
    expectDocumented(state);
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
    const { jobId: again } = rerunFromNode as { jobId: string }; // the query selects this field
    expect(await jobs.ended(again)).toMatchObject({ status: 'complete', content: 'Two' });
    expect(JSON.stringify(model.requests.at(-1)?.json['messages'])).toContain('[first]: One');
  });
});
