import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { JobSnapshot } from '#jobs';

import { statusQuery, toStatus } from './to-status.js';

function snapshot(change: Partial<JobSnapshot> = {}): JobSnapshot {
  return {
    jobId: 'j',
    kind: 'chat',
    status: 'running',
    seq: 9,
    ended: false,
    attempt: 1,
    threadId: 't',
    messageId: 'm',
    model: 'x',
    startedAt: 1_000,
    completedAt: null,
    error: null,
    reason: null,
    usage: { promptTokens: 0, completionTokens: 0, estimated: false },
    labels: {},
    roundCount: 0,
    content: 'Hello 👋 there',
    reasoning: 'thinking',
    rounds: [],
    calls: [],
    interrupts: [],
    ...change,
  };
}

function texts(query: Record<string, string>) {
  const { content, content_delta, content_reset } = toStatus(snapshot(), { query: statusQuery.parse(query) });
  return { content, content_delta, content_reset };
}

const full = { content: 'Hello 👋 there', content_delta: undefined, content_reset: undefined };
const reset = { ...full, content_reset: true };
const delta = (content_delta: string) => ({ content: undefined, content_delta, content_reset: undefined });

describe('status text', () => {
  it.each<[Record<string, string>, object]>([
    [{}, full],
    [{ offset: '0' }, delta('Hello 👋 there')],
    [{ offset: '6' }, delta('👋 there')],
    [{ offset: '6', attempt: '1' }, delta('👋 there')],
    [{ offset: '14' }, delta('')],
    [{ offset: '15' }, reset],
    [{ offset: '6', attempt: '0' }, reset],
    [{ offset: '6', attempt: '2' }, reset],
    [{ offset: '0', attempt: '0' }, delta('Hello 👋 there')],
    [{ attempt: '0' }, full],
    [{ offset: '6', attempt: 'x' }, delta('👋 there')],
    [{ offset: '-1' }, full],
    [{ offset: '1.5' }, full],
    [{ offset: 'abc' }, full],
    [{ offset: '' }, full],
    [{ offset: '9'.repeat(16) }, full],
    // Half a character: a client that has it has miscounted.
    [{ offset: '7' }, reset],
  ])('returns the content, the delta or a reset for the query %j', (query, expected) => {
    expect(texts(query)).toEqual(expected);
  });

  it('returns reasoning by its own offset and the same rules', () => {
    expect(toStatus(snapshot(), { query: statusQuery.parse({ reasoning_offset: '5' }) })).toMatchObject({
      content: 'Hello 👋 there',
      reasoning_delta: 'ing',
      reasoning_length: 8,
    });
    expect(toStatus(snapshot(), { query: statusQuery.parse({ reasoning_offset: '9' }) })).toMatchObject({
      reasoning_reset: true,
    });
  });

  it('leads any sequence of polls to the whole text without splitting a surrogate pair', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '👋', 'é', '\ud83d', '\n') });
    const step = fc.record({ text, attempt: fc.nat({ max: 2 }), wrong: fc.option(fc.nat({ max: 20 })) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1 }), (steps) => {
        let known = '';
        let attempt = '';
        for (const { text: content, attempt: now, wrong } of steps) {
          const offset = String(wrong ?? known.length);
          const reply = toStatus(snapshot({ content, attempt: now }), {
            query: statusQuery.parse({ offset, attempt }),
          });
          expect(reply.content_length).toBe(content.length);
          expect(reply.content === undefined).not.toBe(reply.content_delta === undefined);
          const held = content.slice(0, Number(offset));
          expect(reply.content ?? held + (reply.content_delta ?? '')).toBe(content);
          if (reply.content_delta !== undefined && content.isWellFormed())
            expect(reply.content_delta.isWellFormed()).toBe(true);
          known = content;
          attempt = String(now);
        }
      }),
    );
  });
});

describe('status header', () => {
  it.each([
    ['queued', 'streaming'],
    ['running', 'streaming'],
    ['waiting', 'streaming'],
    ['completed', 'complete'],
    ['failed', 'error'],
    ['cancelled', 'aborted'],
  ] as const)('maps the status %s to %s', (status, wire) => {
    expect(toStatus(snapshot({ status }))).toMatchObject({ job_status: status, status: wire });
  });

  it('contains an error only for a failed job', () => {
    const error = { code: 'deadline', message: 'Job timed out' };
    expect(toStatus(snapshot({ status: 'failed', error })).error).toBe('Job timed out');
    expect(toStatus(snapshot({ status: 'cancelled', error })).error).toBeNull();
    expect(toStatus(snapshot({ status: 'failed' })).error).toBe('Job failed');
  });

  it('truncates results of calls, and returns them as `result` and `output`', () => {
    const call = { round: 1, ordinal: 1, callId: 'c', name: 'f', arguments: '{}', error: null, byClient: false };
    const long = 'x'.repeat(40_000);
    const { tool_calls } = toStatus(snapshot({ calls: [{ ...call, status: 'completed', result: long }] }));
    expect(tool_calls[0]).toMatchObject({ id: 'c', name: 'f', status: 'complete', args: '{}' });
    expect(tool_calls[0]?.result).toMatch(/\n\[truncated, 40000 bytes in total\]$/);
    expect(tool_calls[0]?.output).toBe(tool_calls[0]?.result);
    const failed = {
      ...call,
      status: 'timed_out',
      result: null,
      error: { phase: 'timeout', message: 'Handler timeout after 5ms' },
    };
    expect(toStatus(snapshot({ calls: [failed] })).tool_calls[0]).toEqual({
      id: 'c',
      name: 'f',
      status: 'error',
      retryable: true,
      args: '{}',
      error: 'Handler timeout after 5ms',
      round: 1,
    });
  });

  it('contains the number of rounds and the duration of the job and of each call', () => {
    const call = { round: 2, ordinal: 1, callId: 'c', name: 'f', arguments: '{}', error: null, byClient: false };
    const calls = [
      { ...call, status: 'completed', result: 'x', durationMs: 40 },
      { ...call, callId: 'd', status: 'running', result: null, durationMs: null },
    ];
    const running = toStatus(snapshot({ calls, roundCount: 2 }));
    expect(running).toMatchObject({
      rounds: 2,
      durationMs: null,
      tool_calls: [{ round: 2, durationMs: 40 }, { round: 2 }],
    });
    expect(running.tool_calls[1]).not.toHaveProperty('durationMs');
    expect(toStatus(snapshot({ status: 'completed', completedAt: 3_500.4 }))).toMatchObject({ durationMs: 2_500 });
  });

  it('contains the stable code and the message of a failed job', () => {
    const error = { code: 'model_connection_refused', message: 'The model provider refused the connection.' };
    const shown = { error: error.message, code: error.code };
    expect(toStatus(snapshot({ status: 'failed', error }))).toMatchObject({ ...shown, retryable: false });
    const passing = snapshot({ status: 'failed', error: { ...error, retryable: true } });
    expect(toStatus(passing)).toMatchObject({ ...shown, retryable: true });
    expect(toStatus(snapshot({ status: 'completed' }))).toMatchObject({ error: null, code: null, retryable: null });
  });

  it('shows the user of a chat of another system, and no such field for other jobs', () => {
    expect(toStatus(snapshot({ externalUserId: 'u-1' }))).toMatchObject({ externalUserId: 'u-1' });
    expect(toStatus(snapshot({ externalUserId: null }))).not.toHaveProperty('externalUserId');
  });

  it('contains exactly the fields of the contract', () => {
    expect(Object.keys(toStatus(snapshot())).sort()).toEqual(
      [
        ...[
          'id',
          'status',
          'job_status',
          'threadId',
          'messageId',
          'model',
          'kind',
          'labels',
          'chunksReceived',
          'attempt',
        ],
        ...['seq', 'startedAt', 'completedAt', 'durationMs', 'rounds', 'error', 'code', 'retryable', 'tool_calls'],
        ...['workflow_state', 'content', 'content_length'],
        ...['reasoning', 'reasoning_length'],
      ].sort(),
    );
  });
});
