import { describe, expect, it } from '@jest/globals';

import { replyDocuments } from './chat-reply.js';
import { nextCreatedAt, promptOf, replyId, timelineOf, turnOf } from './chat-timeline.js';
import type { SyntrixDocument } from './syntrix-client.js';

const user = (id: string, createdAt: unknown = 1_000_000_000_000) => ({
  ...{ id, role: 'user', content: `text of ${id}`, createdAt },
});
const assistant = (id: string, createdAt: unknown) => ({ ...user(id, createdAt), role: 'assistant' });
const call = (id: string, changes: object = {}): SyntrixDocument => ({
  ...{ id, toolName: 'look_up', args: { q: id }, status: 'success', result: `"${id}"`, createdAt: 1_000_000_000_001 },
  ...changes,
});
const inTurn = (turnSize: number, index: number) => ({ turnId: 't', turnSize, index });
const chat = (messages: readonly SyntrixDocument[], toolCalls: readonly SyntrixDocument[] = []) =>
  timelineOf({ messages, toolCalls });
const prompt = (timeline: ReturnType<typeof chat>, changes: object = {}) =>
  promptOf(timeline, { systemPrompt: null, maxToolCalls: 5, scope: 'history', ...changes });
const turn = (timeline: ReturnType<typeof chat>, messageId: string | null = null) =>
  turnOf(timeline, { chatPath: 'chat', messageId });

describe('promptOf', () => {
  it('merges messages and calls by time, in seconds, ms or as dates', () => {
    const timeline = chat(
      [user('b', 1_000_000_003), user('a', '2001-09-09T01:46:40.000Z'), assistant('c', 1_000_000_004_000)],
      [call('x', { createdAt: 1_000_000_001_000 })],
    );
    expect(prompt(timeline).messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'user',
      'assistant',
    ]);
  });

  it('puts the calls of one turn into one message, by index, and each result after it', () => {
    const calls = [call('y', inTurn(2, 1)), call('x', { ...inTurn(2, 0), status: 'failed', error: 'no route' })];
    expect(prompt(chat([user('a')], calls)).messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'x', type: 'function', function: { name: 'look_up', arguments: '{"q":"x"}' } },
          { id: 'y', type: 'function', function: { name: 'look_up', arguments: '{"q":"y"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'x', content: 'Error: no route' },
      { role: 'tool', tool_call_id: 'y', content: '"y"' },
    ]);
  });

  it('adds an error to an older call without a result, and a separate message for each call without a turn', () => {
    const calls = [call('x', { status: 'pending' }), call('y', { result: undefined })];
    const { messages } = prompt(chat([user('a'), user('b', 1_000_000_000_009)], calls));
    expect(messages.map((message) => [message.role, 'content' in message ? message.content : null])).toEqual([
      ['user', 'text of a'],
      ['assistant', null],
      ['tool', 'Error: tool did not finish'],
      ['assistant', null],
      ['tool', ''],
      ['user', 'text of b'],
    ]);
  });

  it.each([
    ['history', 5, true],
    ['history', 4, false],
    ['turn', 2, true],
    ['turn', 1, false],
  ] as const)('with scope %s and a limit of %d of 3 and 2 calls offers tools: %s', (scope, maxToolCalls, withTools) => {
    const later = (id: string) => call(id, { createdAt: 1_000_000_000_020 });
    const timeline = chat(
      [user('a'), user('b', 1_000_000_000_010)],
      [call('1'), call('2'), call('3'), later('4'), later('5')],
    );
    const { messages, withTools: offered } = prompt(timeline, { scope, maxToolCalls, systemPrompt: 'Be brief.' });
    expect(offered).toBe(withTools);
    expect(messages[0]).toEqual({ role: 'system', content: 'Be brief.' });
    expect(messages.at(-1)?.role).toBe(withTools ? 'tool' : 'system');
    if (!withTools) expect(messages.at(-1)).toEqual({ role: 'system', content: 'Tool limit reached' });
  });
});

describe('turnOf', () => {
  it('selects the last message, for its own delivery and for that of an older call', () => {
    const timeline = chat([user('a'), user('b', 1_000_000_000_009)], [call('x', { status: 'pending' })]);
    expect(turn(timeline, 'b')).toEqual({ type: 'answer', key: 'chat b' });
    expect(turn(timeline)).toEqual({ type: 'answer', key: 'chat b' });
    expect(turn(timeline, 'a')).toMatchObject({ type: 'skip', why: 'the message is not the last one' });
  });

  it('selects the settled calls of the last turn, for the delivery of any of them', () => {
    const calls = [call('y', inTurn(2, 0)), call('x', { ...inTurn(2, 1), status: 'failed' })];
    expect(turn(chat([user('a')], calls))).toEqual({ type: 'answer', key: 'chat x y' });
  });

  it.each([
    ['a call is pending', [call('x', inTurn(2, 0)), call('y', { ...inTurn(2, 1), status: 'pending' })], 'pending'],
    ['a call of the turn is not written yet', [call('x', inTurn(2, 0))], 'missing'],
  ])('returns no turn while %s', (_, calls, why) => {
    expect(turn(chat([user('a')], calls))).toMatchObject({ type: 'skip', why: expect.stringContaining(why) });
  });

  it('skips a turn with a later assistant message or with the message that has the id of its answer', () => {
    const answered = { type: 'skip', why: 'the turn is answered' };
    expect(turn(chat([user('a'), assistant('r', 1_000_000_000_009)]))).toEqual(answered);
    expect(turn(chat([user('a'), assistant(replyId('chat a'), 1)]), null)).toEqual(answered);
  });

  it('ignores system messages', () => {
    const system = { ...user('s', 1_000_000_000_009), role: 'system' };
    expect(turn(chat([user('a'), system]), 'a')).toMatchObject({ type: 'answer' });
  });
});

describe('replyDocuments', () => {
  const given = { key: 'chat a', jobId: 'job', newest: 1_000, now: 5 };
  it('writes the text under an id that follows from the turn', () => {
    const reply = replyDocuments({ text: 'Hi', calls: [] }, given);
    expect(reply?.messages).toEqual([
      { id: replyId('chat a'), role: 'assistant', content: 'Hi', createdAt: 1_000.001, jobId: 'job' },
    ]);
    expect(replyDocuments({ text: 'Hi', calls: [] }, given)).toEqual(reply);
  });

  it('writes each call with its place in the turn, and invalid arguments as failed', () => {
    const calls = [
      { callId: 'x', name: 'a', arguments: '{"q":1}' },
      { callId: 'y', name: 'b', arguments: '{"q":' },
    ];
    expect(replyDocuments({ text: 'ignored', calls }, { ...given, newest: 1_000_000_000_000 })).toMatchObject({
      messages: [],
      toolCalls: [
        { id: 'x', args: { q: 1 }, status: 'pending', createdAt: 1_000_000_000_001, turnSize: 2, index: 0 },
        { id: 'y', args: {}, status: 'failed', error: 'Invalid arguments', createdAt: 1_000_000_000_002, index: 1 },
      ],
    });
  });

  it('writes a refused call as failed, with its arguments', () => {
    const calls = [{ callId: 'x', name: 'a', arguments: '{"q":1}', refusal: 'Too many' }];
    const toolCalls = [{ id: 'x', args: { q: 1 }, status: 'failed', error: 'Too many', turnSize: 1 }];
    expect(replyDocuments({ text: '', calls }, given)).toMatchObject({ toolCalls });
  });

  it('writes nothing for an empty answer', () => {
    expect(replyDocuments({ text: ' \n', calls: [] }, given)).toBeNull();
  });

  it('keeps the unit of time of the chat', () => {
    expect(nextCreatedAt('2001-09-09T01:46:40.000Z', 1, 7)).toBe('2001-09-09T01:46:40.002Z');
    expect(nextCreatedAt(undefined, 1, 7)).toBe(8);
  });
});
