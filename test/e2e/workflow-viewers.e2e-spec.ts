import { randomBytes } from 'node:crypto';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { EventFeed } from '#jobs';
import { newId } from '#platform';
import { OpenStreams } from '#platform/api';
import { WorkflowsService, type WorkflowState } from '#workflows';

import { JobFeeds } from '../../apps/api/src/streams/job-feeds.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import type { EventStream, StreamFrame } from '../harness/event-stream.js';
import { eventually } from '../harness/eventually.js';
import { ask, connect } from '../harness/graphql.js';
import { jobIdOf, type RestJobs, restJobs } from '../harness/rest-jobs.js';
import { type RecordedRequest, ScriptedModel } from '../harness/scripted-model.js';
import { createGate, type Reply, textChunk, textReply } from '../harness/scripted-reply.js';
import { type TestNode, workflowDocument } from '../harness/workflow-documents.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let people: Record<'owner' | 'admin' | 'member' | 'viewer', TestMember>;
let jobs: RestJobs;
/** Replies, by the prompt of the requesting agent. */
const replies = new Map<string, Reply>();

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  model.answer((request) => [...replies].find(([prompt]) => promptOf(request).includes(prompt))?.[1]);
  // A slow viewer is waited for as long as this takes.
  const slow = { SLOW_VIEWER_BYTES: '65536', SLOW_VIEWER_MS: '3600000' };
  const env = { DELTA_FLUSH_MS: '5', STREAMS_PER_PRINCIPAL: '20', ...slow };
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url, ...env } });
});
beforeEach(async () => {
  replies.clear();
  people = await api.people.workspaceOf(`viewers-${newId()}`);
  jobs = restJobs(api, people.member.key);
});
afterEach(async () => {
  model.assertDone();
  const { app } = api.api;
  await eventually('nothing is held for viewers', () =>
    app.get(JobFeeds).size === 0 && app.get(EventFeed).tails === 0 ? true : undefined,
  );
});
afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

function promptOf({ json }: RecordedRequest): string {
  const [system] = json['messages'] as readonly { readonly content: string }[]; // what the client of models sends
  return system?.content ?? '';
}

/** Streams `before`, waits for the gate, and streams `after`. */
function gated(before: string, ...after: readonly string[]) {
  const gate = createGate();
  return { gate, reply: { body: [textChunk(before), gate, ...after.map(textChunk), ...textReply([]).body] } };
}

async function start(nodes: readonly TestNode[], edges: readonly string[]): Promise<string> {
  const workflows = api.api.app.get(WorkflowsService);
  const definition = workflowDocument({ name: 'x' }, nodes, edges);
  const { id } = await workflows.import(people.member.principal, { definition, expectedVersion: null });
  await workflows.publish(people.admin.principal, id);
  const body = { workflowId: id, prompt: 'Dear Sir', threadId: newId(), messageId: newId() };
  return jobIdOf(await api.call('POST', '/api/workflows/background', { key: people.member.key, body }));
}

const writer = { id: 'writer', data: { prompt: 'Write.' } };
/** Starts a workflow of one agent, whose text is the content of the job. */
const startWriter = () => start([writer], ['start -> writer']);

interface Shown {
  readonly content?: string;
  readonly content_delta?: string;
  readonly content_length: number;
  readonly seq: number;
  readonly status: string;
  readonly workflow_state?: WorkflowState | null;
}
const shownIn = ({ data }: StreamFrame) => data['status'] as Shown; // the contract's shape
const isShown = (holds: (state: WorkflowState) => boolean) => (frame: StreamFrame) => {
  const state = shownIn(frame).workflow_state;
  return state != null && holds(state);
};

/** Plays a stream as a client would; gives the text that it ends with. Fails where the stream does not fit together. */
function play({ frames }: EventStream, has = ''): string {
  let text = has;
  let version = 0;
  for (const frame of frames) {
    const { content, content_delta: delta, content_length: length, workflow_state: state } = shownIn(frame);
    text = content ?? text + (delta ?? '');
    expect(text).toHaveLength(length);
    // A text frame carries no state, every other frame carries it whole.
    expect(frame.data['event'] === 'delta').toBe(state == null);
    expect(state?.version ?? version).toBeGreaterThanOrEqual(version);
    version = state?.version ?? version;
  }
  return text;
}

describe('OR3 stream of a workflow job', () => {
  it('shows branches by label while they stream, and their outputs', async () => {
    const [left, right] = [gated('so fa', 'r'), gated('also', ' done')];
    replies.set('Be left.', left.reply).set('Be right.', right.reply);
    const branches = ['left', 'right'].map((id) => ({ id, label: `The ${id} one`, prompt: `Be ${id}.` }));
    const data = { model: 'scripted', prompt: '', mergeEnabled: true, branches };
    const jobId = await start([{ id: 'p', type: 'parallel', data }], ['start -> p']);
    const stream = await jobs.watch(jobId, { query: '?format=or3' });
    const speaks = ({ branches: { 'p:left': l, 'p:right': r } }: WorkflowState) =>
      l?.streamingText === 'so fa' && r?.streamingText === 'also';
    const speaking = await stream.until(isShown(speaks));
    expect(shownIn(speaking).workflow_state).toMatchObject({
      ...{
        executionState: 'running',
        currentNodeId: 'p',
        nodeStates: { p: { status: 'active', modelId: 'scripted' } },
      },
      branches: {
        'p:left': { id: 'left', label: 'The left one', status: 'active', output: '' },
        'p:right': { id: 'right', label: 'The right one', status: 'active' },
      },
    });
    left.gate.open();
    await stream.until(isShown((state) => state.branches['p:left']?.status === 'completed'));
    right.gate.open();
    expect(await stream.over).toBe(true);
    expect(play(stream)).toBe('## The left one\nso far\n\n## The right one\nalso done');
    const last = stream.frames.at(-1);
    expect(last === undefined ? undefined : shownIn(last)).toMatchObject({
      status: 'complete',
      workflow_state: {
        executionState: 'completed',
        branches: { 'p:left': { output: 'so far', streamingText: '' }, 'p:right': { output: 'also done' } },
      },
    });
  });

  it('resumes after its last event number with the current state', async () => {
    const { gate, reply } = gated('Dear', ' Madam');
    replies.set('Write.', reply);
    const jobId = await startWriter();
    const before = await jobs.watch(jobId, { query: '?format=or3' });
    await before.until(isShown(({ nodeStates }) => nodeStates['writer']?.streamingText === 'Dear'));
    before.leave();
    await before.over;
    const has = play(before);
    const { id = '' } = before.frames.at(-1) ?? {};
    const stream = await jobs.watch(jobId, { query: '?format=or3', headers: { 'last-event-id': id } });
    await stream.until(isShown(({ nodeStates }) => nodeStates['writer']?.streamingText === 'Dear'));
    gate.open();
    expect(await stream.over).toBe(true);
    expect(stream.frames.every(({ data }) => data['event'] !== 'snapshot')).toBe(true);
    expect(play(stream, has)).toBe('Dear Madam');
  });

  it('sends everything after the end of the job, and 204 to a viewer that has the end', async () => {
    replies.set('Write.', textReply(['Yours ', 'truly']));
    const jobId = await startWriter();
    await jobs.ended(jobId);
    const stream = await jobs.watch(jobId, { query: '?format=or3' });
    expect(await stream.over).toBe(true);
    expect(play(stream)).toBe('Yours truly');
    const [first, last] = stream.frames.map(shownIn);
    expect(first?.workflow_state).toEqual(last?.workflow_state);
    expect(last?.workflow_state).toMatchObject({
      ...{ executionState: 'completed', finalOutput: 'Yours truly', result: { success: true }, version: last?.seq },
      sessionMessages: [
        { role: 'user', content: 'Dear Sir' },
        { role: 'assistant', content: 'Yours truly' },
      ],
    });
    const headers = { 'last-event-id': String(last?.seq) };
    expect((await jobs.watch(jobId, { query: '?format=or3', headers })).status).toBe(204);
  });

  it('delays no other viewer when one stops reading, which then catches up', async () => {
    // Characters that JSON writes with six: more than what the kernel holds for a peer that does not read. Random, as Postgres measures
    // the events of a page by their compressed sizes first.
    const piece = String.fromCharCode(...randomBytes(20_000).map((byte) => 14 + (byte % 18)));
    const pieces = Array.from({ length: 150 }, () => piece);
    const { gate, reply } = gated('go', ...pieces);
    replies.set('Write.', reply);
    const jobId = await startWriter();
    const watch = () => jobs.watch(jobId, { query: '?format=or3' });
    const [slow, quick] = [await watch(), await watch()];
    await Promise.all([slow, quick].map((stream) => stream.until(() => true)));
    slow.pause();
    gate.open();
    expect(await quick.over).toBe(true);
    await eventually('only the slow one is left', () => (api.api.app.get(OpenStreams).size === 1 ? true : undefined));
    slow.resume();
    expect(await slow.over).toBe(true);
    const text = `go${pieces.join('')}`;
    expect([play(quick) === text, play(slow) === text]).toEqual([true, true]);
    const states = [quick, slow]
      .map(({ frames }) => frames.at(-1))
      .map((frame) => frame && shownIn(frame).workflow_state);
    expect(states).toEqual([states[0], states[0]]);
    expect(states[0]).toMatchObject({ executionState: 'completed', resumeState: null });
  });

  it('names the node from which a cancelled run can resume', async () => {
    const { reply } = gated('Dear');
    replies.set('Write.', reply);
    const jobId = await startWriter();
    const stream = await jobs.watch(jobId, { query: '?format=or3' });
    await stream.until(isShown(({ nodeStates }) => nodeStates['writer']?.streamingText === 'Dear'));
    await api.call('POST', `/api/jobs/${jobId}/abort`, { key: people.member.key, body: {} });
    expect(await stream.over).toBe(true);
    const last = stream.frames.at(-1);
    const state = last === undefined ? undefined : shownIn(last).workflow_state;
    expect(state).toMatchObject({
      ...{ executionState: 'stopped', currentNodeId: null, result: { success: false } },
      nodeStates: { writer: { status: 'skipped' } },
      resumeState: {
        ...{ startNodeId: 'writer', resumeInput: 'Dear Sir', pendingNodes: [], executionOrder: ['start'] },
        ...{ nodeOutputs: { start: 'Dear Sir' }, sessionMessages: [{ role: 'user', content: 'Dear Sir' }] },
      },
    });
  });
});

describe('other streams of a workflow job', () => {
  it('contain the state in each snapshot', async () => {
    const { gate, reply } = gated('Dear', ' Madam');
    replies.set('Write.', reply);
    const jobId = await startWriter();
    await jobs.shows(jobId, 4);
    const stream = await jobs.watch(jobId);
    const first = await stream.until(() => true);
    const { seq, workflow_state: state } = shownIn(first);
    expect(first.event).toBe('snapshot');
    expect(state).toMatchObject({ nodeStates: { writer: { status: 'active', streamingText: 'Dear' } } });
    expect(state?.version).toBeGreaterThanOrEqual(seq);
    gate.open();
    expect(await stream.over).toBe(true);
    expect(stream.frames.at(-1)).toMatchObject({ event: 'job-finished', data: { status: 'completed' } });
  });

  it('deliver events over graphql-ws, and the state on request', async () => {
    const { gate, reply } = gated('Dear', ' Madam');
    replies.set('Write.', reply);
    const jobId = await startWriter();
    const read = async () => {
      const query = 'query($id: ID!) { job(id: $id) { lastSeq workflowState } }';
      const { data } = await ask(api, query, { key: people.viewer.key, variables: { id: jobId } });
      return data?.['job'] as { readonly lastSeq: number; readonly workflowState: WorkflowState }; // the query selects this field
    };
    await jobs.shows(jobId, 4);
    expect((await read()).workflowState).toMatchObject({ nodeStates: { writer: { streamingText: 'Dear' } } });
    const query =
      'subscription($jobId: ID!, $after: Int) { jobEvents(jobId: $jobId, after: $after) { __typename ... on JobEventEntry { seq } } }';
    interface Seen {
      readonly __typename: string;
      readonly seq: number;
    }
    const watch = async (after?: number, onEvent?: () => void) => {
      const client = connect(api, { apiKey: people.viewer.key });
      const seen: Seen[] = [];
      for await (const { data } of client.iterate<{ jobEvents: Seen }>({ query, variables: { jobId, after } })) {
        if (data) seen.push(data.jobEvents);
        onEvent?.();
      }
      await client.dispose();
      return seen;
    };
    const seen = await watch(undefined, () => {
      gate.open();
    });
    expect(seen.at(0)?.__typename).toBe('JobSnapshotEvent');
    expect(seen.at(-1)?.__typename).toBe('JobFinishedEvent');
    const { lastSeq, workflowState } = await read();
    expect(workflowState).toMatchObject({ executionState: 'completed', version: lastSeq });
    // A returning viewer receives the rest, and a late viewer everything.
    expect(await watch(seen.at(-3)?.seq)).toEqual(seen.slice(-2));
    expect(await watch()).toMatchObject([{ __typename: 'JobSnapshotEvent', seq: lastSeq }]);
  });
});
