import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { type MemberPrincipal, scopeOf, systemPrincipal } from '#auth';
import { AgentsService, ChatService, type StartChat } from '#chat';
import { EventFeed, type JobEvent, JobsRepository, JobStopper, SnapshotRepository } from '#jobs';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import type { TestEngine } from '../harness/engine.js';
import type { ScriptedModel } from '../harness/scripted-model.js';
import {
  callChunk,
  createGate,
  doneLine,
  finishChunk,
  textChunk,
  textReply,
  toolCallReply,
  usageChunk,
} from '../harness/scripted-reply.js';

let stage: ApprovalStage;
let model: ScriptedModel;
let engine: TestEngine;
let owner: MemberPrincipal;

beforeAll(async () => {
  stage = await openApprovalStage();
  ({ model, engine } = stage);
  ({ owner } = stage.people);
});
afterEach(() => {
  model.assertDone();
});
afterAll(async () => {
  await stage.close();
});

const chat = (text: string, changes: Partial<StartChat> = {}): StartChat => ({
  threadRef: null,
  createThread: true,
  messageClientId: null,
  model: null,
  messages: [{ role: 'user', content: text }],
  history: 'thread',
  tools: [],
  toolRuntimes: {},
  toolChoice: null,
  parameters: {},
  whenBusy: null,
  idempotency: null,
  providerKey: null,
  backgroundMode: undefined,
  ...changes,
});

const toolReply = (name: string, args: string) => ({
  body: [
    callChunk({ index: 0, id: 'call_a', function: { name, arguments: args } }),
    finishChunk('tool_calls'),
    usageChunk({ prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }),
    doneLine,
  ],
});

describe('chat job', () => {
  const follow = async (jobId: string, after: number | undefined = 0): Promise<JobEvent[]> => {
    const events: JobEvent[] = [];
    const { signal } = new AbortController();
    const { workspaceId } = owner;
    for await (const item of engine.app.get(EventFeed).follow({ workspaceId, jobId, after, signal })) {
      if (item.type === 'events') events.push(...item.events);
    }
    return events;
  };
  const job = async (jobId: string) => {
    const found = await engine.app.get(JobsRepository).findInScope(scopeOf(owner), jobId);
    if (found === null) throw new Error('no such job');
    return found;
  };
  const start = (request: StartChat) => engine.app.get(ChatService).start(owner, request);

  it('runs a tool round and a final response, and numbers its events 1, 2, 3 …', async () => {
    model.enqueue(toolReply('add_numbers', '{"a":2,"b":3}'), textReply(['It ', 'is ', '5.']));
    const { jobId } = await start(chat('2+3?', { tools: ['add_numbers'] }));
    const events = await follow(jobId);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
    expect(events.map(({ type }) => type)).toEqual([
      'job-queued',
      'job-started',
      'round-started',
      'round-finished',
      'tool-call',
      'round-started',
      'text-delta',
      'round-finished',
      'job-finished',
    ]);
    expect(await job(jobId)).toMatchObject({ status: 'completed', reason: 'stop', rounds: 2, toolCalls: 1 });
    const snapshot = await engine.app.get(SnapshotRepository).read(owner.workspaceId, jobId);
    expect(snapshot).toMatchObject({ content: 'It is 5.', ended: true, calls: [{ status: 'completed', result: '5' }] });
    const [, second] = model.requests.slice(-2);
    expect(second?.json['messages']).toEqual([
      { role: 'user', content: '2+3?' },
      expect.objectContaining({ role: 'assistant', tool_calls: [expect.objectContaining({ id: 'call_a' })] }),
      { role: 'tool', tool_call_id: 'call_a', content: '5' },
    ]);
  });

  it('remembers the conversation of its thread', async () => {
    model.enqueue(textReply(['Hello Ada.']), textReply(['You are Ada.']));
    const first = await start(chat('I am Ada.'));
    await follow(first.jobId);
    const second = await start(chat('Who am I?', { threadRef: first.threadId, createThread: false }));
    await follow(second.jobId);
    expect(model.requests.at(-1)?.json['messages']).toEqual([
      { role: 'user', content: 'I am Ada.' },
      { role: 'assistant', content: 'Hello Ada.' },
      { role: 'user', content: 'Who am I?' },
    ]);
  });

  it('delivers exactly the later events to a viewer from any event number', async () => {
    model.enqueue(textReply(['one ', 'two ', 'three']));
    const { jobId } = await start(chat('count'));
    const all = await follow(jobId);
    for (let after = 0; after < all.length; after++) {
      expect((await follow(jobId, after)).map(({ seq }) => seq)).toEqual(all.slice(after).map(({ seq }) => seq));
    }
    expect(await follow(jobId, all.length)).toEqual([]);
  });

  it('streams to its viewers when another viewer asks for a later number than the log has', async () => {
    const gate = createGate();
    model.enqueue({
      body: [textChunk('one '), gate, textChunk('two'), finishChunk('stop'), usageChunk(null), doneLine],
    });
    const { jobId } = await start(chat('count'));
    const watching = follow(jobId);
    const ahead = engine.app
      .get(EventFeed)
      .follow({ workspaceId: owner.workspaceId, jobId, after: 2_000_000_000, signal: new AbortController().signal });
    const first = await ahead.next();
    expect(first.value).toMatchObject({ type: 'snapshot', reset: true });
    gate.open();
    let last: JobEvent | undefined;
    for await (const item of ahead) if (item.type === 'events') last = item.events.at(-1);
    expect(last?.type).toBe('job-finished');
    expect((await watching).map(({ seq }, i) => seq - i)).toEqual((await watching).map(() => 1));
  });

  it('derives a title from a first line that must be cut inside an emoji', async () => {
    model.enqueue(textReply(['ok']));
    const { jobId } = await start(chat(`${'x'.repeat(78)}\u{1F600} tail`));
    await follow(jobId);
    expect((await job(jobId)).status).toBe('completed');
  });

  it('keeps its text when it is cancelled during a response, and its thread accepts a new job', async () => {
    const gate = createGate();
    model.enqueue({ body: [textChunk('Once upon'), gate] }, textReply(['Sure.']));
    const started = await start(chat('tell'));
    // The text has to be on its way before the cancel, or there is nothing to keep.
    const { signal } = new AbortController();
    for await (const item of engine.app
      .get(EventFeed)
      .follow({ workspaceId: owner.workspaceId, jobId: started.jobId, after: 0, signal })) {
      if (item.type === 'events' && item.events.some(({ type }) => type === 'text-delta')) break;
    }
    expect(await engine.app.get(JobStopper).stop(scopeOf(owner), started.jobId)).toBe('aborted');
    expect(await engine.app.get(JobStopper).stop(scopeOf(owner), started.jobId)).toBe('aborted');
    gate.open();
    expect(await job(started.jobId)).toMatchObject({ status: 'cancelled', reason: 'cancelled' });
    const next = await start(chat('again', { threadRef: started.threadId, createThread: false }));
    await follow(next.jobId);
    const messages = model.requests.at(-1)?.json['messages'];
    expect(JSON.stringify(messages)).toContain('Once upon');
    expect(JSON.stringify(messages)).toContain('stopped before it was finished');
  });

  it('starts once for a repeated key, also for twenty requests at once', async () => {
    model.enqueue(textReply(['once']));
    const idempotency = { key: 'the-key', requestHash: 'ab' };
    const started = await Promise.all(Array.from({ length: 20 }, () => start(chat('go', { idempotency }))));
    expect(new Set(started.map(({ jobId }) => jobId)).size).toBe(1);
    expect(started.filter(({ replayed }) => !replayed)).toHaveLength(1);
    await follow(started[0]?.jobId ?? '');
    expect(await start(chat('go', { idempotency }))).toMatchObject({ replayed: true, status: 'completed' });
  });

  it('queues the second job of its thread, which then reads the response of the first', async () => {
    const gate = createGate();
    model.enqueue({ body: [textChunk('first'), gate, finishChunk('stop'), doneLine] }, textReply(['second']));
    const first = await start(chat('a'));
    const second = await start(chat('b', { threadRef: first.threadId, createThread: false, whenBusy: 'enqueue' }));
    expect((await job(second.jobId)).isDeferred).toBe(true);
    await expect(start(chat('c', { threadRef: first.threadId, createThread: false }))).rejects.toMatchObject({
      code: 'thread_busy',
    });
    gate.open();
    await follow(second.jobId);
    expect(model.requests.at(-1)?.json['messages']).toEqual([
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: 'b' },
    ]);
  });

  it('stays invisible to another workspace', async () => {
    const scope = scopeOf(systemPrincipal('00000000-0000-7000-8000-000000000000'));
    model.enqueue(textReply(['mine']));
    const { jobId } = await start(chat('x'));
    await follow(jobId);
    expect(await engine.app.get(JobsRepository).findInScope(scope, jobId)).toBeNull();
    expect(await engine.app.get(JobStopper).stop(scope, jobId)).toBe('not_found');
  });
});

describe('job format', () => {
  /** Whether a worker would claim the job that knows the first format only. */
  async function isForAll(jobId: string): Promise<boolean> {
    const rows = await stage.rows('SELECT 1 FROM job WHERE id = $1 AND format <= 1', [jobId]);
    return rows.length === 1;
  }

  it('leaves a chat with an agent, and its retry, to workers that know agents; all workers take others', async () => {
    await stage.engine.app.get(AgentsService).create(stage.people.owner, { name: 'Clerk', instructions: 'Be brief.' });
    stage.model.enqueue({ status: 400, body: ['{"error":{"message":"no"}}'] });
    const { jobId } = await stage.ask([], { agent: { type: 'agent', ref: 'clerk' } });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    stage.model.enqueue(textReply(['Filed.']), textReply(['Plain.']));
    const retried = await stage.engine.app.get(ChatService).retry(stage.people.member, jobId);
    expect(await stage.ended(retried.jobId)).toMatchObject({ status: 'completed', content: 'Filed.' });
    const plain = await stage.ask([]);
    expect(await stage.ended(plain.jobId)).toMatchObject({ status: 'completed', content: 'Plain.' });
    expect(await Promise.all([jobId, retried.jobId, plain.jobId].map(isForAll))).toEqual([false, false, true]);
  });
});

describe('ChatService.retry', () => {
  let restricted: ApprovalStage;

  beforeAll(async () => {
    restricted = await openApprovalStage({ FEATURE_CLIENT_TOOLS: 'off' });
  });
  afterAll(async () => {
    await restricted.close();
  });

  it('skips the client tool calls of a chat when client tools were disabled meanwhile', async () => {
    restricted.model.enqueue({ status: 400, body: ['{"error":{"message":"no"}}'] });
    const definition = { type: 'function', function: { name: 'open_file' } } as const;
    const { jobId } = await restricted.ask([], { tools: [definition] });
    expect(await restricted.ended(jobId)).toMatchObject({ status: 'failed' });
    // As it was stored while they were on.
    await restricted.rows(
      `UPDATE job SET input = input || '{"client":{"deviceId":null,"tools":{"open_file":{}}}}' WHERE id = $1`,
      [jobId],
    );
    restricted.model.enqueue(
      toolCallReply([{ id: 'call_1', name: 'open_file', arguments: '{}' }]),
      textReply(['Never mind.']),
    );
    const again = await restricted.engine.app.get(ChatService).retry(restricted.people.member, jobId);
    expect(await restricted.ended(again.jobId)).toMatchObject({ status: 'completed', calls: [{ status: 'skipped' }] });
    expect(await restricted.rows(`SELECT input ? 'client' AS client FROM job WHERE id = $1`, [again.jobId])).toEqual([
      { client: false },
    ]);
  });

  it('rejects a /v1 job whose client runs the tools', async () => {
    restricted.model.enqueue({ status: 400, body: ['{"error":{"message":"no"}}'] });
    const { jobId } = await restricted.ask([]);
    expect(await restricted.ended(jobId)).toMatchObject({ status: 'failed' });
    const client = { deviceId: null, tools: {}, handedOver: { timeoutMs: 1_000 } };
    await restricted.rows('UPDATE job SET input = input || $2 WHERE id = $1', [jobId, JSON.stringify({ client })]);
    const again = restricted.engine.app.get(ChatService).retry(restricted.people.member, jobId);
    await expect(again).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('again') });
  });
});
