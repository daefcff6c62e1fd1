import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { ChatMessage } from '#models';

import { conversationProblems } from '../../../../test/harness/conversation-problems.js';
import { repairConversation } from './repair-conversation.js';
import { toChatMessage } from './to-chat-message.js';

const asks = (...ids: readonly string[]): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'x', arguments: '{}' } })),
});
const result = (id: string, content: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content });
const user = (content: string): ChatMessage => ({ role: 'user', content });
const textOf = ({ content }: ChatMessage): string => (typeof content === 'string' ? content : JSON.stringify(content));
const shape = (messages: readonly ChatMessage[]): readonly string[] =>
  messages.map((m) =>
    m.role === 'tool'
      ? `${m.tool_call_id}=${textOf(m)}`
      : m.role === 'assistant' && m.tool_calls
        ? `asks ${m.tool_calls.map((call) => call.id).join()}`
        : `${m.role}: ${textOf(m)}`,
  );

describe('repairConversation', () => {
  it('returns a valid conversation unchanged', () => {
    const valid = [
      user('hi'),
      asks('a', 'b'),
      result('a', '1'),
      result('b', '2'),
      { role: 'assistant', content: 'done' } as const,
    ];
    expect(repairConversation(valid)).toEqual(valid);
  });

  it('adds a result to a call without one and drops a result without a call', () => {
    expect(
      shape(repairConversation([result('z', '0'), asks('a', 'b'), result('b', '2'), result('z', '3'), user('go')])),
    ).toEqual(['asks a,b', 'a=Tool result not available', 'b=2', 'user: go']);
  });

  it('moves results behind their call, in the order of the calls', () => {
    const mixed = [asks('a', 'b'), user('wait'), result('b', '2'), result('a', '1')];
    expect(shape(repairConversation(mixed))).toEqual(['asks a,b', 'a=1', 'b=2', 'user: wait']);
  });

  it('uses no result from after the next assistant message', () => {
    const late = [asks('a'), { role: 'assistant', content: 'no' } as const, result('a', '1')];
    expect(shape(repairConversation(late))).toEqual(['asks a', 'a=Tool result not available', 'assistant: no']);
  });

  it('renames repeated and empty ids in calls and results', () => {
    const repeated = [
      asks('a', 'a', ''),
      result('a', '1'),
      result('a', '2'),
      result('', '3'),
      asks('a'),
      result('a', '4'),
    ];
    expect(shape(repairConversation(repeated))).toEqual([
      'asks a,a_2,call_1',
      'a=1',
      'a_2=2',
      'call_1=3',
      'asks a_3',
      'a_3=4',
    ]);
  });

  it('uses the first of several results', () => {
    expect(shape(repairConversation([asks('a'), result('a', '1'), result('a', '2')]))).toEqual(['asks a', 'a=1']);
  });

  it('drops an empty assistant message', () => {
    const empty = ['', null, []].map((content): ChatMessage => ({ role: 'assistant', content }));
    expect(repairConversation([user('a'), ...empty, { role: 'assistant', content: 'b', tool_calls: [] }])).toEqual([
      user('a'),
      { role: 'assistant', content: 'b' },
    ]);
  });

  it('repairs 40,000 calls with one id within the test timeout', () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } } as const;
    const messages = Array.from({ length: 40_000 }, (): ChatMessage => ({
      role: 'assistant',
      content: null,
      tool_calls: [call],
    }));
    expect(repairConversation(messages).at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'a_40000' });
  });

  it('makes any conversation valid and changes no valid one', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 20 }), (rows) => {
        const messages = rows
          .map(([role, content]) => toChatMessage(role, content))
          .filter((message) => message !== null);
        const repaired = repairConversation(messages);
        expect(conversationProblems(repaired)).toEqual([]);
        expect(repairConversation(repaired)).toEqual(repaired);
        const plain = (list: readonly ChatMessage[]): readonly ChatMessage[] =>
          list.filter((message) => message.role === 'user' || message.role === 'system');
        expect(plain(repaired)).toEqual(plain(messages));
      }),
      { numRuns: 1_000 },
    );
  });
});

const id = fc.constantFrom('a', 'b', 'a_2', '', 'call_1');
const anyContent = fc.oneof(
  fc.constantFrom('', 'hello', null),
  fc.constant([{ type: 'text', text: 'part' }]),
  fc.jsonValue(),
);
const anyMessage = fc.tuple(
  fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function'),
  fc.oneof(
    anyContent,
    fc.record({
      content: anyContent,
      tool_call_id: id,
      tool_calls: fc.oneof(
        fc.jsonValue(),
        fc.array(
          fc.record({
            id,
            type: fc.constant('function'),
            function: fc.record({
              name: fc.constantFrom('x', '', 'a b'),
              arguments: fc.constantFrom('{}', '', '[1]', '{"a":'),
            }),
          }),
          { maxLength: 4 },
        ),
      ),
    }),
  ),
);
