import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';

import { type MemberPrincipal, type Role, scopeOf } from '#auth';
import { JobsRepository, StartConditionFailed, type StartFilter, StartFilters } from '#jobs';
import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { startTestEngine, type TestEngine } from '../../../../test/harness/engine.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { smallWorkflow, workflowDocument } from '../../../../test/harness/workflow-documents.js';
import type { WorkflowInput } from '../definitions/workflow-input.js';
import { WorkflowsService } from '../definitions/workflows.service.js';
import type { StartWorkflow } from './start-workflow.js';
import { StartWorkflowService } from './start-workflow.service.js';
import { WorkflowLaunch } from './workflow-launch.js';

let database: TestDatabase;
let identities: TestIdentities;
let engine: TestEngine;
let app: INestApplicationContext;
let here: Record<Role, MemberPrincipal>;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  engine = await startTestEngine(database, { MODEL_BASE_URL: 'http://127.0.0.1:9/v1' }, false);
  app = engine.app;
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
});
afterAll(async () => {
  await engine.close();
  identities.auth.close();
  await database.close();
});

const publish = async (definition: unknown) => {
  const workflows = app.get(WorkflowsService);
  const { id } = await workflows.import(here.member, { definition, expectedVersion: null });
  return (await workflows.publish(here.admin, id)).workflow;
};
const start = (change: Partial<StartWorkflow> = {}, who = here.member) =>
  app.get(StartWorkflowService).start(who, {
    ...{ workflowRef: 'w-1', version: null, prompt: 'Dear Sir', threadRef: null, createThread: true },
    ...{ messageClientId: null, history: [], attachments: [], whenBusy: null, idempotency: null, providerKey: null },
    ...{ known: {}, resumeFrom: null },
    ...change,
  });
const codeOf = (starting: Promise<unknown>) =>
  starting.then(
    () => 'started',
    (error: unknown) => (error as { code: string }).code,
  );
const stored = async (jobId: string) => {
  const found = await app.get(JobsRepository).findInputInScope(scopeOf(here.viewer), jobId);
  if (found === null) throw new Error('the job does not exist');
  return { job: found.job, input: found.input as WorkflowInput };
};
const rows = (text: string, values: readonly unknown[]) =>
  database.postgres.withWorkspaceSql(here.owner.workspaceId, async (client) => {
    const { rows: found } = await client.query<Record<string, unknown>>(text, [...values]);
    return found;
  });

describe('a start', () => {
  it('pins the published version, and reports it in the first event', async () => {
    const { id } = await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    const { jobId, threadId } = await start();
    await publish(smallWorkflow({ name: 'y', id: 'w-1' }));
    const { job, input } = await stored(jobId);
    expect(job).toMatchObject({ kind: 'workflow', status: 'queued', workflowId: id, workflowVersion: 1 });
    expect(input).toEqual({ prompt: 'Dear Sir', history: [], attachments: [], subflows: {}, toolPins: {} });
    expect(threadId).toBeNull();
    const [event] = await rows('SELECT body FROM job_event WHERE job_id = $1', [jobId]);
    expect(event?.['body']).toMatchObject({ kind: 'workflow', workflowId: id });
    expect((await stored((await start()).jobId)).job.workflowVersion).toBe(2);
    expect((await stored((await start({ version: 1 })).jobId)).job.workflowVersion).toBe(1);
    expect(await codeOf(start({ version: 3 }))).toBe('not_found');
  });

  it('pins subflows of subflows and the tools that any of them may call', async () => {
    const using = (id: string, child: string, tools: readonly string[]) =>
      workflowDocument(
        { name: id, id },
        [
          { id: 'a', data: { tools } },
          { id: 'b', type: 'subflow', data: { subflowId: child, inputMappings: { input: '{{input}}' } } },
        ],
        ['start -> a', 'a -> b'],
      );
    const leaf = await publish(smallWorkflow({ name: 'leaf', id: 'leaf', tools: ['calculate', 'nonsense'] }));
    const middle = await publish(using('middle', 'leaf', []));
    await publish(using('w-1', 'middle', ['add_numbers']));
    const { input } = await stored((await start()).jobId);
    expect(input.subflows).toEqual({
      middle: { id: middle.id, version: 1 },
      leaf: { id: leaf.id, version: 1 },
    });
    expect(Object.keys(input.toolPins).sort()).toEqual(['add_numbers', 'calculate']);
  });

  it('adds the message of the user to its thread, with a placeholder for the response', async () => {
    await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    const image = { type: 'image', url: 'https://a.test/i.png' } as const;
    const { jobId, threadId, messageId } = await start({
      threadRef: 'mine',
      messageClientId: 'm-1',
      attachments: [image],
    });
    expect([threadId, messageId]).toEqual(['mine', 'm-1']);
    const { job } = await stored(jobId);
    const messages = await rows(
      'SELECT position, role, content, client_id, job_id FROM message WHERE thread_id = $1 ORDER BY position',
      [job.threadId],
    );
    const parts = [
      { type: 'text', text: 'Dear Sir' },
      { type: 'image_url', image_url: { url: image.url } },
    ];
    expect(messages).toEqual([
      { position: 1, role: 'user', content: parts, client_id: null, job_id: null },
      { position: 2, role: 'assistant', content: null, client_id: 'm-1', job_id: jobId },
    ]);
    expect(await codeOf(start({ threadRef: 'mine' }))).toBe('thread_busy');
  });

  it('returns the same job for the same key after the workflow was changed or deleted', async () => {
    const { id } = await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    const base = { idempotency: { key: 'k', requestHash: 'ab'.repeat(32) }, known: { version: 1 } };
    const first = await start(base);
    await publish(smallWorkflow({ name: 'y', id: 'w-1' }));
    expect(await start(base)).toEqual({ ...first, replayed: true });
    await app.get(WorkflowsService).remove(here.admin, id);
    expect(await start(base)).toEqual({ ...first, replayed: true });
    const other = { ...base, idempotency: { key: 'k', requestHash: 'cd'.repeat(32) } };
    expect(await codeOf(start(other))).toBe('idempotency_key_mismatch');
    expect(await codeOf(start({ ...base, idempotency: { key: 'l', requestHash: 'ab'.repeat(32) } }))).toBe('not_found');
  });

  it('starts one job for concurrent requests with one key', async () => {
    await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    const base = { idempotency: { key: 'k', requestHash: 'ab'.repeat(32) } };
    const started = await Promise.all(Array.from({ length: 8 }, () => start(base)));
    expect(new Set(started.map(({ jobId }) => jobId)).size).toBe(1);
  });

  it('fails without the right, and for a workflow that does not exist', async () => {
    await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    expect(await codeOf(start({}, here.viewer))).toBe('forbidden');
    expect(await codeOf(start({ workflowRef: newId() }))).toBe('not_found');
    const { owner: stranger } = await identities.workspaceOf(newId());
    expect(await codeOf(start({}, stranger))).toBe('not_found');
    const definition = smallWorkflow({ name: 'draft', id: 'draft' });
    await app.get(WorkflowsService).save(here.member, { id: null, definition, expectedVersion: null });
    expect(await codeOf(start({ workflowRef: 'draft' }))).toBe('workflow_not_published');
  });

  it('fails when the copy of the client differs from the published version', async () => {
    const document = smallWorkflow({ name: 'x', id: 'w-1' });
    const { updatedAt } = await publish(document);
    const known = (given: StartWorkflow['known']) => codeOf(start({ known: given }));
    expect(await known({ updatedAt, version: 1, definition: document })).toBe('started');
    expect(await known({ version: '1' })).toBe('started');
    expect(await known({ version: '2.0.0', definition: JSON.stringify(document, null, 2) })).toBe('started');
    expect(await known({ updatedAt: updatedAt + 60_000 })).toBe('workflow_stale');
    expect(await known({ version: 2 })).toBe('workflow_version_mismatch');
    expect(await known({ definition: smallWorkflow({ name: 'y', id: 'w-1' }) })).toBe('workflow_payload_mismatch');
  });

  it('rejects a copy of the client that is newer than the published version', async () => {
    const { id } = await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    const definition = smallWorkflow({ name: 'y', id: 'w-1' });
    const { updatedAt } = await app.get(WorkflowsService).save(here.member, { id, definition, expectedVersion: null });
    expect(await codeOf(start({ known: { updatedAt } }))).toBe('workflow_stale');
  });

  it('fails when a dependency no longer exists', async () => {
    const child = await publish(smallWorkflow({ name: 'child', id: 'child' }));
    const data = { subflowId: 'child', inputMappings: { input: '{{input}}' } };
    await publish(workflowDocument({ name: 'x', id: 'w-1' }, [{ id: 's', type: 'subflow', data }], ['start -> s']));
    await app.get(WorkflowsService).remove(here.admin, child.id);
    await expect(start()).rejects.toMatchObject({
      code: 'workflow_invalid',
      message: 'Workflow definition is invalid',
      details: { issues: [expect.objectContaining({ code: 'SUBFLOW_NOT_FOUND', nodeId: 's' })] },
    });
  });

  it.each<[string, Partial<StartWorkflow>]>([
    ['Prompt exceeds 12000 chars', { prompt: 'x'.repeat(12_001) }],
    ['attachments exceeds 20 entries', { attachments: Array.from({ length: 21 }, () => ({ type: 'file', url: 'u' })) }],
    ['history exceeds 200 entries', { history: Array.from({ length: 201 }, () => ({ role: 'user', content: 'x' })) }],
    ['An entry of history exceeds 8000 chars', { history: [{ role: 'user', content: 'x'.repeat(8_001) }] }],
    [
      'An entry of conversationHistory exceeds 8000 chars',
      { historyField: 'conversationHistory', history: [{ role: 'user', content: 'x'.repeat(8_001) }] },
    ],
  ])('fails when it is too large: %s', async (message, change) => {
    await expect(start(change)).rejects.toMatchObject({ code: 'too_large', message });
  });

  it('copies the outputs of an earlier run when a client sends them', async () => {
    await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    const run = { nodeOutputs: { start: 'Dear Sir', gone: 'x' }, executionOrder: ['start'], pendingNodes: [] };
    const resumeFrom = { startNodeId: 'writer', ...run, sessionMessages: null, resumeInput: null };
    const { input } = await stored((await start({ resumeFrom })).jobId);
    expect(input.resumeFrom).toMatchObject({
      startNodeId: 'writer',
      finished: [{ nodeId: 'start', output: 'Dear Sir', handles: null }],
    });
    await expect(start({ resumeFrom: { ...resumeFrom, startNodeId: 'gone' } })).rejects.toMatchObject({
      code: 'bad_request',
      message: 'resumeFrom startNodeId is not in this workflow',
    });
  });
});

describe('a start of a workflow that this process has started before', () => {
  const versionOf = async (started: Promise<{ readonly jobId: string }>) =>
    (await stored((await started).jobId)).job.workflowVersion;

  it('runs the version that is published now, by the id of the workflow and by its meta.id', async () => {
    const { id } = await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    const refs = [id, id.toUpperCase(), 'w-1'];
    for (const workflowRef of [...refs, ...refs]) expect(await versionOf(start({ workflowRef }))).toBe(1);
    await publish(smallWorkflow({ name: 'y', id: 'w-1' }));
    for (const workflowRef of [...refs, ...refs]) expect(await versionOf(start({ workflowRef }))).toBe(2);
    await publish(smallWorkflow({ name: 'z', id: 'w-1' }));
    expect(await versionOf(start({ threadRef: 'mine' }))).toBe(3);
  });

  it('starts each of many concurrent requests once after another version was published', async () => {
    await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    await publish(smallWorkflow({ name: 'z', id: 'w-2' }));
    await Promise.all([start(), start({ workflowRef: 'w-2' })]);
    await publish(smallWorkflow({ name: 'y', id: 'w-1' }));
    const starts = Array.from({ length: 12 }, (_, i) => start({ workflowRef: i % 2 === 0 ? 'w-1' : 'w-2' }));
    const versions = await Promise.all(starts.map(versionOf));
    expect(versions).toEqual(versions.map((_, i) => (i % 2 === 0 ? 2 : 1)));
    expect(await rows('SELECT count(*)::int AS jobs FROM job', [])).toEqual([{ jobs: 14 }]);
  });

  it('fails when the workflow was deleted, also for a given version', async () => {
    const { id } = await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    const requests = [{}, { version: 1 }, { workflowRef: id }, { workflowRef: id, version: 1 }];
    for (const request of requests) await start(request);
    await app.get(WorkflowsService).remove(here.admin, id);
    for (const request of requests) expect(await codeOf(start(request))).toBe('not_found');
  });

  it('runs the workflow that now has this meta.id', async () => {
    const first = await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    await start();
    const renamed = smallWorkflow({ name: 'x', id: 'w-renamed' });
    await app.get(WorkflowsService).save(here.member, { id: first.id, definition: renamed, expectedVersion: null });
    expect(await codeOf(start())).toBe('not_found');
    const second = await publish(smallWorkflow({ name: 'other', id: 'w-1' }));
    expect((await stored((await start()).jobId)).job.workflowId).toBe(second.id);
  });

  it('runs a newly published valid version after the previous one became invalid', async () => {
    const child = await publish(smallWorkflow({ name: 'child', id: 'child' }));
    const data = { subflowId: 'child', inputMappings: { input: '{{input}}' } };
    await publish(workflowDocument({ name: 'x', id: 'w-1' }, [{ id: 's', type: 'subflow', data }], ['start -> s']));
    await start();
    await app.get(WorkflowsService).remove(here.admin, child.id);
    expect(await codeOf(start())).toBe('workflow_invalid');
    await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    expect(await versionOf(start())).toBe(2);
  });

  it('compares the copy of the client with the version that is published now', async () => {
    await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    await start();
    expect(await codeOf(start({ known: { version: 2 } }))).toBe('workflow_version_mismatch');
    const second = smallWorkflow({ name: 'y', id: 'w-1' });
    await publish(second);
    expect(await versionOf(start({ known: { version: 2, definition: second } }))).toBe(2);
    expect(await codeOf(start({ known: { version: 1 } }))).toBe('workflow_version_mismatch');
  });

  it('reports that the copy of the client is newer than the published version', async () => {
    const { id, updatedAt } = await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    await start();
    const definition = smallWorkflow({ name: 'y', id: 'w-1' });
    await app.get(WorkflowsService).save(here.member, { id, definition, expectedVersion: null });
    expect(await codeOf(start({ known: { updatedAt: updatedAt + 60_000 } }))).toBe('workflow_stale');
  });

  it('continues from a node that only the newly published version has', async () => {
    await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    await start();
    await publish(workflowDocument({ name: 'x', id: 'w-1' }, [{ id: 'review', data: {} }], ['start -> review']));
    const run = { nodeOutputs: { start: 'Dear Sir' }, executionOrder: ['start'], pendingNodes: [] };
    const resumeFrom = { startNodeId: 'review', ...run, sessionMessages: null, resumeInput: null };
    expect(await versionOf(start({ resumeFrom }))).toBe(2);
  });

  it('starts a version without model calls, after one that lacked a key for its model', async () => {
    await rows('UPDATE workspace SET require_user_key = true', []);
    await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    for (let i = 0; i < 2; i += 1) expect(await codeOf(start())).toBe('missing_model_key');
    const quiet = { id: 'a', type: 'transform', data: { expression: 'input' } };
    await publish(workflowDocument({ name: 'x', id: 'w-1' }, [quiet], ['start -> a']));
    expect(await versionOf(start())).toBe(2);
  });

  it('reports that the workflow was deleted rather than that the thread is busy', async () => {
    const { id } = await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    await start({ threadRef: 'mine' });
    expect(await codeOf(start({ threadRef: 'mine' }))).toBe('thread_busy');
    await app.get(WorkflowsService).remove(here.admin, id);
    expect(await codeOf(start({ threadRef: 'mine' }))).toBe('not_found');
  });

  it('returns the job that another start with the same key created before the workflow was deleted', async () => {
    const { id } = await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    await start();
    const launch = app.get(WorkflowLaunch);
    const launchStart = launch.start.bind(launch);
    let other: { readonly jobId: string } | undefined;
    const late = jest.spyOn(launch, 'start').mockImplementationOnce(async (...given) => {
      other = await launchStart(...given);
      await app.get(WorkflowsService).remove(here.admin, id);
      throw new StartConditionFailed();
    });
    const idempotency = { key: 'k', requestHash: 'ab' };
    expect(await start({ idempotency })).toMatchObject({ jobId: other?.jobId, replayed: true });
    late.mockRestore();
  });

  it('runs the hooks of job starts once after another version was published', async () => {
    await publish(smallWorkflow({ name: 'x', id: 'w-1' }));
    await start();
    await publish(smallWorkflow({ name: 'y', id: 'w-1' }));
    const filter = jest.fn<StartFilter>((request) => Promise.resolve(request));
    const filters = jest.spyOn(app.get(StartFilters), 'filter', 'get').mockReturnValue(filter);
    expect(await versionOf(start())).toBe(2);
    expect(filter).toHaveBeenCalledTimes(1);
    filters.mockRestore();
  });
});
