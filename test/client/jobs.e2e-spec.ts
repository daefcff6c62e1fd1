import { Readable } from 'node:stream';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  clientTool,
  createNightshift,
  type Interrupt,
  type JobEvent,
  JobWaitingError,
  type Nightshift,
} from '@nightshift/client';
import { ImportWorkflowDocument, PublishWorkflowDocument } from '@nightshift/client/operations';
import { z } from 'zod';

import type { Role } from '#auth';
import { WorkflowsService } from '#workflows';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { startHttpTarget } from '../harness/http-target.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, deltaChunk, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { around } from '../harness/workflow-document.js';
import { publish, sketch } from '../harness/workflows.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let people: Record<Role, TestMember>;
let nightshift: Nightshift;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  const env = { MODEL_BASE_URL: model.url, MAX_FILE_BYTES: '4000000', FILE_BYTES_PER_WORKSPACE: '6000000' };
  api = await startTestApi(database, { env });
  people = await api.people.workspaceOf('client');
  nightshift = createNightshift({ url: api.url, token: people.owner.key });
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

/** Publishes a workflow with one agent node and gives its id. */
async function publishAgentNode(name: string): Promise<string> {
  const { meta, ...graph } = around(['agent', { model: 'scripted', prompt: 'Answer.' }]);
  const definition = { ...graph, meta: { ...meta, name } };
  const { importWorkflow } = await nightshift.mutate(ImportWorkflowDocument, { input: { definition } });
  const id = importWorkflow.workflow?.id ?? '';
  const { publishWorkflow } = await nightshift.mutate(PublishWorkflowDocument, { input: { id } });
  expect(publishWorkflow).toMatchObject({ version: { number: 1 }, userErrors: [] });
  return id;
}

async function all<Entry>(entries: AsyncIterable<Entry>): Promise<readonly Entry[]> {
  const seen: Entry[] = [];
  for await (const entry of entries) seen.push(entry);
  return seen;
}

/** Without the instant: an event that is shown live is not stored yet. */
const timeless = (events: readonly JobEvent[]) => events.map((event) => ({ ...event, at: null }));
const numbers = (events: readonly JobEvent[]) => events.map(({ seq }) => seq);

describe('NightshiftClient with jobs', () => {
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
    const id = await publishAgentNode('Events');
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
    const job = await nightshift.startChat(needsApproval);
    const error = await waitingError(job.text());
    expect(error).toMatchObject({
      ...{ name: 'NightshiftError', code: 'job_waiting', retryable: true },
      request: { jobId: job.id, kind: 'TOOL_APPROVAL', decidableBy: 'REQUESTER', mayDecide: true, tool: 'calculate' },
      message: expect.stringMatching(/waits: .*tool_approval, for the requester .*includes you.*onApproval/),
    });
    expect((await waitingError(nightshift.job(job.id).result())).request.id).toBe(error.request.id);
    model.enqueue(textReply(['42']));
    const { argumentsHash } = error.request.request as { argumentsHash: string };
    await nightshift.interrupts.resolve({ id: error.request.id, decision: 'APPROVE', argumentsHash });
    expect(await job.text()).toBe('42');
  });

  it('keeps waiting with onWaiting, which is called once for each request', async () => {
    calls('ask_person', { question: 'Which size?' });
    const job = await nightshift.startChat({ message: 'Order', serverTools: ['ask_person'] });
    const seen: string[] = [];
    const text = job.text({
      onWaiting: ({ id, kind }: Interrupt) => {
        seen.push(kind);
        model.enqueue(textReply(['An M.']));
        void nightshift.interrupts.resolve({ id, action: 'SUBMIT', data: 'M' });
      },
    });
    expect(await text).toBe('An M.');
    expect(seen).toEqual(['HUMAN_INPUT']);
  });

  it('rejects when a client tool call is open that this client does not run', async () => {
    calls('here', {});
    const job = await nightshift.startChat({ message: 'Go', clientTools: [{ name: 'here' }] } as never);
    expect(await waitingError(job.text())).toMatchObject({ request: { kind: 'CLIENT_TOOL', tool: 'here' } });
    await job.cancel();
  });

  it('rejects with the open request of a sub-job', async () => {
    const document = sketch({ q: { type: 'approval', prompt: 'Well?' } }, ['start -> q'], { name: 'asks' });
    const { id } = await publish(api.api, people.owner.principal, document);
    await api.api.app.get(WorkflowsService).offerAsTool(people.owner.principal, id, true);
    calls('workflow.asks', { input: 'Hello' });
    const job = await nightshift.startChat({ message: 'Go', serverTools: ['workflow.asks'] });
    const { request } = await waitingError(job.result());
    expect(request).toMatchObject({ kind: 'HUMAN_INPUT', rootJobId: job.id });
    expect(request.jobId).not.toBe(job.id);
    expect((await waitingError(nightshift.job(job.id).result())).request.id).toBe(request.id);
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
    const job = await nightshift.startChat({ message: 'Count', tools: { count } });
    expect(await job.text()).toBe('Four.');
    expect(JSON.stringify(model.requests.at(-1)?.json['tools'])).toContain('"times":{"type":"integer"');
    expect(JSON.stringify(model.requests.at(-1)?.json['messages'])).toContain('"content":"4"');
  });
});

describe('NightshiftClient with files', () => {
  const text = 'Total due: 42 EUR';
  const bytes = new TextEncoder().encode(text);
  const uploaded = { hash: expect.stringMatching(/^[0-9a-f]{64}$/), mime: 'text/plain', size: 17, name: 'invoice.txt' };
  const named = { mime: 'text/plain', name: 'invoice.txt' };

  /** A stream that never ends, and how many pieces were taken of it. */
  function endless() {
    const stream = { taken: 0, cancelled: false, content: new ReadableStream<Uint8Array>() };
    stream.content = new ReadableStream({
      pull: (controller) => {
        stream.taken += 1;
        controller.enqueue(new Uint8Array(65_536));
      },
      cancel: () => {
        stream.cancelled = true;
      },
    });
    return stream;
  }

  it('uploads a blob, bytes and streams, and downloads the same content', async () => {
    const file = await nightshift.files.upload(new Blob([text], { type: 'text/plain' }), { name: 'invoice.txt' });
    expect(file).toEqual(uploaded);
    const contents = [bytes, new Blob([text]).stream(), Readable.from([bytes.subarray(0, 5), bytes.subarray(5)])];
    for (const content of contents) expect(await nightshift.files.upload(content, named)).toEqual(file);
    const named2 = new File(['other'], 'other.txt', { type: 'text/plain' });
    expect(await nightshift.files.upload(named2)).toMatchObject({ name: 'other.txt', size: 5 });
    const content = await nightshift.files.download(file.hash);
    expect(content.type).toBe('text/plain');
    expect(await content.text()).toBe(text);
  });

  it('throws the error of the server for a refused upload or download', async () => {
    const refused = (code: string) => ({ name: 'NightshiftError', code, requestId: expect.any(String) });
    const { files } = nightshift;
    await expect(files.upload(bytes, { mime: 'text/html' })).rejects.toMatchObject(refused('unsupported_media_type'));
    await expect(files.upload(new Uint8Array(), { mime: 'text/plain' })).rejects.toMatchObject(refused('bad_request'));
    await expect(files.upload(new Uint8Array(4_000_001), { mime: 'text/plain' })).rejects.toMatchObject({
      ...refused('too_large'),
      retryable: false,
    });
    await expect(files.download('0'.repeat(64))).rejects.toMatchObject(refused('not_found'));
    const reader = createNightshift({ url: api.url, token: people.viewer.key });
    await expect(reader.files.upload(bytes, named)).rejects.toMatchObject(refused('forbidden'));
    reader.close();
  });

  it('stops reading a stream or a download at maxBytes', async () => {
    const stream = endless();
    await expect(nightshift.files.upload(stream.content, { ...named, maxBytes: 200_000 })).rejects.toMatchObject({
      code: 'too_large',
    });
    expect(stream).toMatchObject({ cancelled: true });
    expect(stream.taken).toBeLessThan(10);
    const { hash } = await nightshift.files.upload(new Uint8Array(2_000_000).fill(97), { mime: 'text/plain' });
    await expect(nightshift.files.download(hash, { maxBytes: 1_000 })).rejects.toMatchObject({ code: 'too_large' });
    expect((await nightshift.files.download(hash)).size).toBe(2_000_000);
  });

  it('sends an upload again when the connection was lost', async () => {
    let requests = 0;
    const server = await startHttpTarget((_request, response) => {
      requests += 1;
      if (requests < 3) response.destroy();
      else response.writeHead(201).end(JSON.stringify({ hash: 'h', mime: 'text/plain', bytes: 17, name: null }));
    });
    const client = createNightshift({ url: server.url, token: 'any', reconnect: { firstDelayMs: 1 } });
    expect(await client.files.upload(bytes, { mime: 'text/plain' })).toMatchObject({ hash: 'h', size: 17 });
    expect(requests).toBe(3);
    client.close();
    await server.close();
  });

  it('attaches an uploaded file to a chat and to a workflow', async () => {
    const file = await nightshift.files.upload(bytes, named);
    const sent = () => JSON.stringify(model.requests.at(-1)?.json['messages']);
    model.enqueue(textReply(['42 EUR']), textReply(['42 EUR']));
    const chat = await nightshift.startChat({ message: 'What is due?', attachments: [file] });
    expect(await chat.text()).toBe('42 EUR');
    expect(sent()).toContain(`File \\"invoice.txt\\":\\n${text}`);

    const workflowId = await publishAgentNode('Attachments');
    const job = await nightshift.startWorkflow({ workflowId, prompt: 'What is due?', attachments: [file] });
    expect(await job.text()).toContain('42 EUR');
    expect(sent()).toContain(text);
  });
});
