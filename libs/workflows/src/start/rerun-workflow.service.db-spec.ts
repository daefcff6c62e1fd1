import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';

import { type MemberPrincipal, type Role, scopeOf } from '#auth';
import { JobsRepository } from '#jobs';
import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { startTestEngine, type TestEngine } from '../../../../test/harness/engine.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { layOutNodeRuns } from '../../../../test/harness/node-runs.js';
import { workflowDocument } from '../../../../test/harness/workflow-documents.js';
import type { WorkflowInput } from '../definitions/workflow-input.js';
import { WorkflowsService } from '../definitions/workflows.service.js';
import { RerunWorkflowService } from './rerun-workflow.service.js';
import { StartWorkflowService } from './start-workflow.service.js';

let database: TestDatabase;
let identities: TestIdentities;
let engine: TestEngine;
let app: INestApplicationContext;
let here: Record<Role, MemberPrincipal>;
let jobId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  engine = await startTestEngine(database, { MODEL_BASE_URL: 'http://127.0.0.1:9/v1' }, false);
  app = engine.app;
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
  const fork = [{ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' }];
  const edges = ['start -> a', 'start -> b', 'start -> c', 'a -> d', 'b -> d'];
  const workflows = app.get(WorkflowsService);
  const definition = workflowDocument({ name: 'x', id: 'w-1' }, fork, edges);
  const { id } = await workflows.save(here.member, { id: null, definition, expectedVersion: null });
  await workflows.publish(here.admin, id);
  const started = await app.get(StartWorkflowService).start(here.member, {
    ...{ workflowRef: id, version: null, prompt: 'Hi', threadRef: 'mine', createThread: true, messageClientId: null },
    ...{ history: [], attachments: [], whenBusy: null, idempotency: null, providerKey: null, known: {} },
    resumeFrom: null,
  });
  ({ jobId } = started);
  await layOutNodeRuns(database, { workspaceId: here.owner.workspaceId, jobId, status: 'failed' }, [
    { nodeId: 'start', type: 'start', output: 'Hi' },
    { nodeId: 'a', output: 'From a' },
    { nodeId: 'b', status: 'error', error: { message: 'no', code: 'UNKNOWN', nodeId: 'b' } },
    { nodeId: 'c', status: 'cancelled' },
    { nodeId: 'd', status: 'skipped' },
  ]);
});
afterAll(async () => {
  await engine.close();
  identities.auth.close();
  await database.close();
});

const rerun = (nodeId: string, change: object = {}, who = here.member) =>
  app.get(RerunWorkflowService).rerunFromNode(who, { jobId, nodeId, editedInput: null, idempotency: null, ...change });
const inputOf = async (id: string) => {
  const found = await app.get(JobsRepository).findInputInScope(scopeOf(here.viewer), id);
  return { ...found?.job, input: found?.input as WorkflowInput };
};

describe('rerunning a failed job', () => {
  it('copies the outputs of finished nodes only', async () => {
    const { jobId: again } = await rerun('b', { editedInput: 'Hello' });
    const { input, retryOf, workflowVersion, threadId } = await inputOf(again);
    const { threadId: before } = await inputOf(jobId);
    expect({ retryOf, workflowVersion, threadId }).toEqual({ retryOf: jobId, workflowVersion: 1, threadId: before });
    expect(input).toMatchObject({
      prompt: 'Hi',
      resumeFrom: {
        startNodeId: 'b',
        input: 'Hello',
        finished: [
          { nodeId: 'start', output: 'Hi', handles: ['output'] },
          { nodeId: 'a', output: 'From a' },
        ],
        pending: ['c'],
      },
    });
    const messages = await database.prisma.withWorkspace(here.owner, (tx) =>
      tx.message.findMany({ where: { threadId: before ?? '' }, orderBy: { position: 'asc' } }),
    );
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant']);
  });

  it('copies the outputs that the job itself had copied', async () => {
    const { jobId: again } = await rerun('b', { editedInput: 'Hello' });
    await layOutNodeRuns(database, { workspaceId: here.owner.workspaceId, jobId: again, status: 'failed' }, [
      { nodeId: 'b', status: 'error' },
    ]);
    const { jobId: third } = await rerun('b', { jobId: again });
    const { resumeFrom } = (await inputOf(third)).input;
    expect(resumeFrom).toMatchObject({ input: 'Hello', pending: ['c'] });
    expect(resumeFrom?.finished.map(({ nodeId }) => nodeId)).toEqual(['start', 'a']);
  });

  it('from its beginning adds no message to its thread', async () => {
    const { jobId: again } = await app.get(RerunWorkflowService).retry(here.member, jobId);
    const { input, retryOf, threadId } = await inputOf(again);
    expect([retryOf, input.prompt, input.resumeFrom]).toEqual([jobId, 'Hi', undefined]);
    const messages = await database.prisma.withWorkspace(here.owner, (tx) =>
      tx.message.findMany({ where: { threadId: threadId ?? '' }, orderBy: { position: 'asc' } }),
    );
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant']);
    await expect(app.get(RerunWorkflowService).retry(here.member, again)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('returns the same job for the same key', async () => {
    const idempotency = { key: 'k', requestHash: 'ab'.repeat(32) };
    const { jobId: first } = await rerun('b', { idempotency });
    expect(await rerun('b', { idempotency })).toMatchObject({ jobId: first, replayed: true });
  });

  it.each([
    ['gone', 'This node is not in the workflow'],
    ['d', 'The job never reached this node'],
    ['sf:a|b', 'This node is inside a subflow: rerun from the subflow node'],
  ])('fails from %s', async (nodeId, message) => {
    await expect(rerun(nodeId)).rejects.toMatchObject({ code: 'bad_request', field: 'nodeId', message });
  });

  it('requires the right to change the job, and a job that has ended', async () => {
    await expect(rerun('b', {}, here.viewer)).rejects.toMatchObject({ code: 'forbidden' });
    const { owner: stranger } = await identities.workspaceOf(newId());
    await expect(rerun('b', {}, stranger)).rejects.toMatchObject({ code: 'not_found' });
    const { jobId: running } = await rerun('b');
    await expect(rerun('b', { jobId: running })).rejects.toMatchObject({ code: 'conflict' });
  });
});
