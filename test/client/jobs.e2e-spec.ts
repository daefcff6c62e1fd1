import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createNightshift, type JobEvent, type Nightshift } from '@nightshift/client';
import { ImportWorkflowDocument, PublishWorkflowDocument } from '@nightshift/client/operations';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, deltaChunk, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { around } from '../harness/workflow-document.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let member: TestMember;
let nightshift: Nightshift;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  member = (await api.people.workspaceOf('client')).owner;
  nightshift = createNightshift({ url: api.url, token: member.key });
});
afterEach(() => {
  model.assertDone();
});
afterAll(async () => {
  nightshift.close();
  await api.close();
  await model.close();
  await database.close();
});

async function all<Entry>(entries: AsyncIterable<Entry>): Promise<readonly Entry[]> {
  const seen: Entry[] = [];
  for await (const entry of entries) seen.push(entry);
  return seen;
}

/** Without the instant: an event that is shown live is not stored yet. */
const timeless = (events: readonly JobEvent[]) => events.map((event) => ({ ...event, at: null }));
const numbers = (events: readonly JobEvent[]) => events.map(({ seq }) => seq);

describe('NightshiftClient jobs', () => {
  it('streams the events of a job from the first to the last, or after any event number', async () => {
    model.enqueue(
      toolCallReply([{ id: 'call_1', name: 'calculate', arguments: '{"expression":"6*7"}' }]),
      textReply(['It is ', '42', '.']),
    );
    const job = await nightshift.startChat({ message: 'What is 6*7?', serverTools: ['calculate'] });
    const events = await all(job.events());
    expect(numbers(events)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ __typename: 'JobFinishedEvent', status: 'COMPLETED' });
    for (const { seq } of events)
      expect(timeless(await all(job.events({ after: seq })))).toEqual(timeless(events.slice(seq)));
  });

  it('returns the text, the result and the status of a job', async () => {
    model.enqueue(textReply(['Good ', 'evening']));
    const job = await nightshift.startChat({ message: 'Hi', threadId: 'greetings' });
    expect(job.threadId).toBe('greetings');
    expect(await job.text()).toBe('Good evening');
    expect(await job.result()).toMatchObject({ id: job.id, status: 'COMPLETED', content: 'Good evening', error: null });
    expect(await job.status()).toMatchObject({ status: 'COMPLETED', usage: { totalTokens: 18 } });
    expect(await all(job.textStream())).toEqual([{ keep: 0, append: 'Good evening', text: 'Good evening' }]);
    expect((await nightshift.jobs.list({}, { first: 1 })).nodes).toMatchObject([{ id: job.id }]);
  });

  it('rejects a pending text() when the job is cancelled', async () => {
    const gate = createGate();
    model.enqueue({ body: [deltaChunk({ role: 'assistant', content: '' }), textChunk('Well'), gate] });
    const job = await nightshift.startChat({ message: 'Hi' });
    const text = job.text();
    for await (const change of job.textStream()) {
      expect(change).toEqual({ keep: 0, append: 'Well', text: 'Well' });
      break;
    }
    const stopped = expect(text).rejects.toMatchObject({ name: 'NightshiftError', code: 'cancelled' });
    expect(await job.cancel()).toBe('ABORTED');
    await stopped;
    expect(await job.result()).toMatchObject({ status: 'CANCELLED', content: 'Well' });
    expect(await job.cancel()).toBe('ABORTED');
    gate.open();
  });

  it('keeps a job running when a signal aborts a wait for its text', async () => {
    const gate = createGate();
    model.enqueue({ ...textReply(['Late']), before: gate });
    const job = await nightshift.startChat({ message: 'Hi' });
    const controller = new AbortController();
    const waiting = job.text({ signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    gate.open();
    expect(await job.text()).toBe('Late');
  });

  it('starts a job of an imported and published workflow and streams its events', async () => {
    const definition = around(['agent', { model: 'scripted', prompt: 'Answer.' }]);
    const { importWorkflow } = await nightshift.mutate(ImportWorkflowDocument, { input: { definition } });
    const id = importWorkflow.workflow?.id ?? '';
    const { publishWorkflow } = await nightshift.mutate(PublishWorkflowDocument, { input: { id } });
    expect(publishWorkflow).toMatchObject({ version: { number: 1 }, userErrors: [] });
    model.enqueue(textReply(['It ', 'works']));
    const job = await nightshift.startWorkflow({ workflowId: id, prompt: 'Does it?' });
    const shown = all(job.textStream());
    const kinds = new Set((await all(job.events())).map(({ __typename }) => __typename));
    expect([...kinds]).toEqual(expect.arrayContaining(['NodeStartedEvent', 'NodeFinishedEvent', 'JobFinishedEvent']));
    const content = 'Does it?\n\nIt works';
    expect(await job.text()).toBe(content);
    expect((await shown).at(-1)?.text).toBe(content);
    expect(await job.status()).toMatchObject({ kind: 'WORKFLOW', workflowId: id, workflowVersion: 1 });
    const state = await job.workflowState();
    expect(state?.executionState).toBe('completed');
    expect(Object.values(state?.nodeStates ?? {}).map(({ status }) => status)).toEqual(
      expect.arrayContaining(['completed']),
    );
    expect(state?.result).toMatchObject({ success: true, usage: { totalTokens: 18 } });
    await expect(nightshift.job('00000000-0000-7000-8000-000000000000').workflowState()).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('rejects with NOT_FOUND for an unknown job', async () => {
    const absent = nightshift.job('00000000-0000-7000-8000-000000000000');
    const refusal = { name: 'NightshiftError', code: 'not_found', retryable: false };
    await expect(absent.status()).rejects.toMatchObject(refusal);
    await expect(absent.text()).rejects.toMatchObject(refusal);
    await expect(all(absent.events())).rejects.toMatchObject({ ...refusal, requestId: expect.any(String) });
    await expect(absent.cancel()).rejects.toMatchObject(refusal);
  });

  it('starts no job with invalid input and names the field', async () => {
    await expect(nightshift.startChat({ message: 'Hi', serverTools: ['no such tool'] })).rejects.toMatchObject({
      name: 'NightshiftError',
      code: 'bad_request',
      field: 'tools',
    });
  });
});
