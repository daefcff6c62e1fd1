import { describe, expect, it } from '@jest/globals';
import { createParser } from 'eventsource-parser';

import type { JobEvent, JobSnapshot, NewJobEvent } from '#jobs';
import type { WorkflowState } from '#workflows';

import { nativeEncoder } from './native-encoder.js';
import { or3Encoder } from './or3-encoder.js';

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
const finished = {
  type: 'job-finished',
  body: { status: 'completed', reason: 'stop', content_length: 2, usage, durationMs: 5, toolCalls: 1, rounds: 1 },
} as const;

function event(seq: number, fact: NewJobEvent, attempt = 0): JobEvent {
  return { ...fact, seq, jobId: 'j', at: 100 + seq, attempt };
}

function text(seq: number, offset: number, content: string): JobEvent {
  return event(seq, { type: 'text-delta', body: { round: 1, offset, text: content } });
}

function snapshot(change: Partial<JobSnapshot> = {}): JobSnapshot {
  return {
    jobId: 'j',
    kind: 'chat',
    status: 'running',
    seq: 3,
    ended: false,
    attempt: 0,
    threadId: 't',
    messageId: 'm',
    model: 'x',
    startedAt: 1,
    completedAt: null,
    error: null,
    reason: null,
    usage: { promptTokens: 0, completionTokens: 0, estimated: false },
    labels: {},
    roundCount: 0,
    content: 'ab',
    reasoning: '',
    rounds: [],
    calls: [],
    interrupts: [],
    ...change,
  };
}

/** The encoders look at nothing in it. */
function stateOf(version: number): WorkflowState {
  return { type: 'workflow-execution', version } as WorkflowState;
}

interface Frame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

function framesOf(text: string): Frame[] {
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) => frames.push({ id, event, data: JSON.parse(data) as Frame['data'] }),
  });
  parser.feed(text);
  return frames;
}

describe('native encoder', () => {
  const encoder = nativeEncoder(() => 777);

  it('writes every event with its number, name, time and attempt', () => {
    const {
      text: encodedText,
      after,
      needsSnapshot,
    } = encoder.encode({ type: 'events', events: [text(4, 2, 'cd'), event(5, finished)] });
    expect([after, needsSnapshot]).toEqual([5, false]);
    expect(framesOf(encodedText)).toMatchObject([
      {
        id: '4',
        event: 'text-delta',
        data: { seq: 4, jobId: 'j', at: 104, attempt: 0, round: 1, offset: 2, text: 'cd' },
      },
      { id: '5', event: 'job-finished', data: { seq: 5, status: 'completed', content_length: 2 } },
    ]);
  });

  it('writes a snapshot with its number, the status and the open requests', () => {
    const open = { id: 'i', kind: 'human_input', title: 'Go?', request: { q: 1 }, expiresAt: 9 };
    const about = [
      { ...open, callId: 'call_1', nodeId: null },
      { ...open, callId: null, nodeId: 'n' },
    ];
    const item = { type: 'snapshot', snapshot: snapshot({ interrupts: about }), reset: true } as const;
    expect(framesOf(encoder.encode(item).text)).toMatchObject([
      {
        id: '3',
        event: 'snapshot',
        data: {
          ...{ seq: 3, at: 777, attempt: 0, reset: true },
          status: { id: 'j', content: 'ab', content_length: 2 },
        },
      },
    ]);
    const { id: interruptId, ...shown } = open;
    expect(framesOf(encoder.encode(item).text)[0]?.data['interrupts']).toEqual([
      { interruptId, ...shown, callId: 'call_1' },
      { interruptId, ...shown, nodeId: 'n' },
    ]);
  });

  it('includes the state of a workflow only in snapshots', () => {
    const item = {
      type: 'snapshot',
      snapshot: snapshot({ kind: 'workflow' }),
      reset: false,
      state: stateOf(3),
    } as const;
    const [frame] = framesOf(encoder.encode(item).text);
    expect(frame?.data['status']).toMatchObject({ workflow_state: { version: 3 } });
    expect(encoder.encode({ type: 'workflow-state', state: stateOf(4), after: 4 }).text).toBe('');
  });

  it('encodes an event once for all viewers', () => {
    const shared = text(4, 0, 'x');
    let reads = 0;
    Object.defineProperty(shared, 'body', { get: () => (reads++, { round: 1, offset: 0, text: 'x' }) });
    for (let viewer = 0; viewer < 5; viewer++) nativeEncoder(() => 0).encode({ type: 'events', events: [shared] });
    expect(reads).toBe(1);
  });

  it('writes the result of a call as `result` and as `output`', () => {
    const call = { id: 'c', name: 'f', status: 'complete', args: '{}', result: '4' } as const;
    const updated = event(4, { type: 'tool-call-updated', body: { round: 1, internalStatus: 'completed', call } });
    const [frame] = framesOf(encoder.encode({ type: 'events', events: [updated] }).text);
    expect(frame?.data).toMatchObject({ internalStatus: 'completed', call: { result: '4', output: '4' } });
  });

  it('writes `retryable` with every error', () => {
    const error = { code: 'x', message: 'It broke' };
    const node = {
      nodeRunId: 'r',
      nodeId: 'n',
      label: 'n',
      type: 'agent',
      path: [],
      status: 'error',
      output: '',
    } as const;
    const totals = { content_length: 0, durationMs: 1, toolCalls: 0, rounds: 1 };
    const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
    const call = { id: 'c', name: 'f', status: 'error', args: '{}', error: 'It broke' } as const;
    const branch = { nodeId: 'n', branchId: 'b', label: 'b', status: 'error', output: '', error: 'It broke' } as const;
    const events = [
      event(4, { type: 'tool-call-updated', body: { round: 1, internalStatus: 'error', call } }),
      event(5, { type: 'branch-finished', body: branch }),
      event(6, { type: 'branch-finished', body: { ...branch, retryable: true } }),
      event(7, { type: 'node-finished', body: { ...node, error } }),
      event(8, { type: 'job-finished', body: { status: 'failed', reason: 'x', error, usage, ...totals } }),
    ];
    const frames = framesOf(encoder.encode({ type: 'events', events }).text);
    expect(frames.map(({ data }) => data)).toMatchObject([
      { call: { error: 'It broke', retryable: false } },
      { error: 'It broke', retryable: false },
      { error: 'It broke', retryable: true },
      { error: { ...error, retryable: false } },
      { error: { ...error, retryable: false } },
    ]);
  });
});

describe('or3 encoder', () => {
  const begin = (query = {}) => {
    const encoder = or3Encoder({ query });
    const first = encoder.encode({ type: 'snapshot', snapshot: snapshot(), reset: false });
    return { encoder, first };
  };
  const shown = (frames: Frame[]) => frames.map(({ id, event, data }) => ({ id, event, ...data }));

  it('begins with a snapshot of the whole text, or of the text after the offset of the client', () => {
    expect(shown(framesOf(begin().first.text))).toMatchObject([
      { id: '3', event: 'snapshot', status: { content: 'ab', status: 'streaming' } },
    ]);
    const [frame] = framesOf(begin({ offset: 1 }).first.text);
    expect(frame?.data['status']).toMatchObject({ content_delta: 'b', content_length: 2 });
    expect(frame?.data['status']).not.toHaveProperty('content');
  });

  it('sends text as deltas and everything else as status, never with content', () => {
    const { encoder } = begin();
    const call = { id: 'c', name: 'f', status: 'loading', args: '{}' } as const;
    const events = [
      text(4, 2, 'cd'),
      event(5, {
        type: 'tool-call',
        body: { round: 1, internalStatus: 'pending', call: { ...call, status: 'pending' } },
      }),
      event(6, { type: 'tool-call-updated', body: { round: 1, internalStatus: 'running', call } }),
      event(7, { type: 'job-waiting', body: { interruptIds: [] } }),
    ];
    const frames = framesOf(encoder.encode({ type: 'events', events }).text);
    expect(frames.map(({ id, data }) => [id, data['event']])).toEqual([
      ['4', 'delta'],
      ['5', 'status'],
      ['6', 'status'],
      ['7', 'status'],
    ]);
    expect(frames[0]?.data['status']).toMatchObject({ content_delta: 'cd', content_length: 4, seq: 4 });
    expect(frames[2]?.data['status']).toMatchObject({ tool_calls: [call], job_status: 'running' });
    expect(frames[3]?.data['status']).toMatchObject({ job_status: 'waiting', status: 'streaming' });
    for (const { data } of frames) expect(data['status']).not.toHaveProperty('content');
  });

  it('omits the progress of a call', () => {
    const { encoder } = begin();
    const progress = event(4, { type: 'tool-progress', body: { callId: 'c', seqInCall: 1, progress: 1 } });
    expect(encoder.encode({ type: 'events', events: [progress] })).toEqual({
      text: '',
      after: 4,
      needsSnapshot: false,
    });
  });

  it('adds no text of a node to the content', () => {
    const { encoder } = begin();
    const aside = event(4, { type: 'text-delta', body: { round: 1, text: 'aside', nodeId: 'n' } });
    const encoded = encoder.encode({ type: 'events', events: [aside, text(5, 2, 'cd')] });
    expect(shown(framesOf(encoded.text))).toMatchObject([
      { id: '5', event: 'delta', status: { content_delta: 'cd', content_length: 4 } },
    ]);
  });

  it('requests a snapshot when text is withdrawn, and sends it as a reset', () => {
    const { encoder } = begin();
    const body = { round: 1, reason: 'broken', contentLength: 0, reasoningLength: 0 };
    const restarted = event(5, { type: 'round-restarted', body }, 1);
    const encoded = encoder.encode({ type: 'events', events: [text(4, 2, 'c'), restarted, text(6, 0, 'z')] });
    expect(encoded).toMatchObject({ needsSnapshot: true, after: 4 });
    const again = encoder.encode({
      type: 'snapshot',
      snapshot: snapshot({ seq: 6, attempt: 1, content: 'z' }),
      reset: false,
    });
    expect(shown(framesOf(again.text))).toMatchObject([
      { id: '6', event: 'status', status: { content: 'z', content_reset: true, attempt: 1 } },
    ]);
  });

  it('ends with one status that contains the whole text', () => {
    const { encoder } = begin();
    expect(encoder.encode({ type: 'events', events: [event(4, finished)] })).toMatchObject({ needsSnapshot: true });
    const end = snapshot({ seq: 4, status: 'completed', ended: true, content: 'abcd' });
    const frames = framesOf(encoder.encode({ type: 'snapshot', snapshot: end, reset: false }).text);
    expect(shown(frames)).toMatchObject([{ event: 'status', status: { content: 'abcd', status: 'complete' } }]);
    expect(frames[0]?.data['status']).not.toHaveProperty('content_reset');
  });

  it('writes a snapshot and the end for a job that had already ended', () => {
    const end = snapshot({ status: 'failed', ended: true, error: { code: 'deadline', message: 'Job timed out' } });
    const frames = framesOf(or3Encoder({ query: {} }).encode({ type: 'snapshot', snapshot: end, reset: false }).text);
    expect(frames.map(({ data }) => data['event'])).toEqual(['snapshot', 'status']);
    expect(frames[1]?.data['status']).toMatchObject({ status: 'error', error: 'Job timed out', content: 'ab' });
  });

  it('continues from an event number without moving later events before it', () => {
    const base = snapshot({ seq: 6, status: 'waiting', content: 'abcd' });
    const encoder = or3Encoder({ query: {}, base });
    const events = [
      text(4, 2, 'cd'),
      event(5, { type: 'job-started', body: { epoch: 2 } }),
      event(7, { type: 'job-requeued', body: { reason: 'x' } }),
    ];
    const frames = framesOf(encoder.encode({ type: 'events', events }).text);
    const statuses = frames.map(({ data }) => (data['status'] as { job_status: string }).job_status);
    expect(statuses).toEqual(['waiting', 'waiting', 'queued']);
  });

  it('sends a reset snapshot for a cursor whose events are gone', () => {
    const encoder = or3Encoder({ query: {}, base: snapshot() });
    const frames = framesOf(encoder.encode({ type: 'snapshot', snapshot: snapshot({ seq: 9 }), reset: true }).text);
    expect(shown(frames)).toMatchObject([{ event: 'snapshot', status: { content: 'ab', content_reset: true } }]);
  });
});

describe('or3 encoder of a workflow', () => {
  const begin = () => {
    const encoder = or3Encoder({ query: {} });
    const item = {
      type: 'snapshot',
      snapshot: snapshot({ kind: 'workflow' }),
      reset: false,
      state: stateOf(3),
    } as const;
    return { encoder, first: framesOf(encoder.encode(item).text) };
  };
  const place = { nodeRunId: 'j:1', nodeId: 'n', label: 'N', type: 'agent', path: [] };

  it('begins with the state', () => {
    expect(begin().first).toMatchObject([
      { data: { event: 'snapshot', status: { content: 'ab', workflow_state: { version: 3 } } } },
    ]);
  });

  it('sends text at once, and other changes with the next state under the number of its last event', () => {
    const { encoder } = begin();
    const started = event(4, { type: 'node-started', body: place });
    const waiting = event(6, { type: 'job-waiting', body: { interruptIds: ['i'] } });
    const events = framesOf(encoder.encode({ type: 'events', events: [started, text(5, 2, 'cd'), waiting] }).text);
    expect(events).toMatchObject([{ id: '5', data: { event: 'delta', status: { content_delta: 'cd' } } }]);
    expect(events[0]?.data['status']).not.toHaveProperty('workflow_state');
    const encoded = encoder.encode({ type: 'workflow-state', state: stateOf(8), after: 6 });
    expect([encoded.after, encoded.needsSnapshot]).toEqual([6, false]);
    const [frame] = framesOf(encoded.text);
    expect(frame).toMatchObject({
      id: '6',
      data: { event: 'status', status: { seq: 6, job_status: 'waiting', workflow_state: { version: 8 } } },
    });
    expect(frame?.data['status']).not.toHaveProperty('content');
  });

  it('ends with the whole text and the whole state', () => {
    const { encoder } = begin();
    expect(encoder.encode({ type: 'events', events: [event(4, finished)] }).needsSnapshot).toBe(true);
    const end = snapshot({ kind: 'workflow', seq: 4, status: 'completed', ended: true, content: 'abcd' });
    const { text: encodedText } = encoder.encode({ type: 'snapshot', snapshot: end, reset: false, state: stateOf(4) });
    expect(framesOf(encodedText)).toMatchObject([
      { data: { event: 'status', status: { content: 'abcd', workflow_state: { version: 4 } } } },
    ]);
  });
});
