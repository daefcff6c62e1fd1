import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { ChatMessage } from '#models';

import { conversationProblems } from '../../../../../test/harness/conversation-problems.js';
import { OpenAiError } from '../../errors/openai-error.js';
import { callIdsIn, prepareMessages, type SessionCall } from './prepare-messages.js';
import { toWorkflowTurn } from './workflow-turn.js';

const block = (id: string) =>
  `<details type="tool_calls" done="true" id="${id}" name="f" arguments="&quot;&quot;" result="&quot;&quot;" files="" embeds="">
<summary>Tool Executed</summary>
</details>`;
const call = (id: string): SessionCall => ({ id, name: 'f', arguments: '{"a":1}', result: `result of ${id}` });
const known = (...ids: string[]) => new Map(ids.map((id) => [id, call(id)]));
const asked = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{"a":1}' } });
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: `result of ${id}` });
const user: ChatMessage = { role: 'user', content: 'Hi' };
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });

function refusal(messages: readonly ChatMessage[]): unknown {
  try {
    return prepareMessages(messages, new Map());
  } catch (error) {
    return error instanceof OpenAiError ? [error.status, error.message, error.param, error.code] : error;
  }
}

describe('prepareMessages', () => {
  it('removes the tool blocks of earlier responses', () => {
    const shown = 'Hm\n<tool id="1" state="start">f()</tool>\n<tool id="1" state="done">f()\nx</tool>\nDone.';
    expect(prepareMessages([user, assistant(shown), user], new Map())).toEqual([user, assistant('Hm\nDone.'), user]);
    expect(prepareMessages([user, assistant(block('a')), user], new Map())).toEqual([user, user]);
  });

  it('keeps a tool block in a user message', () => {
    const quoted: ChatMessage = { role: 'user', content: block('a') };
    expect(prepareMessages([quoted], known('a'))).toEqual([quoted]);
  });

  it('restores the calls of the session with their results', () => {
    const content = `Hm\n${block('a')}\n${block('b')}\nThen\n${block('x')}\n${block('c')}\nDone.`;
    expect(prepareMessages([user, assistant(content), user], known('a', 'b', 'c'))).toEqual([
      user,
      { role: 'assistant', content: 'Hm', tool_calls: [asked('a'), asked('b')] },
      ...[result('a'), result('b')],
      { role: 'assistant', content: 'Then', tool_calls: [asked('c')] },
      result('c'),
      assistant('Done.'),
      user,
    ]);
    expect(callIdsIn([user, assistant(content)])).toEqual(['a', 'b', 'x', 'c']);
  });

  it('restores each call once', () => {
    const messages = prepareMessages(
      [user, assistant(`${block('a')}\n${block('a')}`), assistant(block('a')), user],
      known('a'),
    );
    expect(messages).toEqual([user, { role: 'assistant', content: null, tool_calls: [asked('a')] }, result('a'), user]);
  });

  it('appends the calls that the client sends after the restored calls', () => {
    const own: ChatMessage = {
      role: 'assistant',
      content: block('a'),
      tool_calls: [{ ...asked('z'), type: 'function' }],
    };
    expect(prepareMessages([user, own, user], known('a'))).toEqual([
      user,
      { role: 'assistant', content: null, tool_calls: [asked('a')] },
      result('a'),
      { role: 'assistant', content: null, tool_calls: [asked('z')] },
      { role: 'tool', tool_call_id: 'z', content: 'Tool result not available' },
      user,
    ]);
  });

  it('rejects a conversation without user text', () => {
    const refused = [400, 'No user message content found in messages', 'messages', null];
    expect(refusal([{ role: 'system', content: 'x' }])).toEqual(refused);
    expect(refusal([{ role: 'user', content: '' }])).toEqual(refused);
    expect(refusal([{ role: 'user', content: [{ type: 'text', text: ' ' }] }])).toEqual(refused);
    const image = { type: 'image_url', image_url: { url: 'data:,' } } as const;
    expect(prepareMessages([{ role: 'user', content: [image] }], new Map())).toHaveLength(1);
  });

  it('builds a valid conversation from any input', () => {
    const id = fc.constantFrom('a', 'b', '');
    const text = fc.constantFrom('', 'x', block('a'), `x\n${block('b')}\ny`, '<tool id="1" state="start">f()</tool>');
    const calls = fc.array(
      id.map((each) => ({ ...asked(each), type: 'function' as const })),
      { minLength: 1, maxLength: 2 },
    );
    const message: fc.Arbitrary<ChatMessage> = fc.oneof(
      fc.record({ role: fc.constantFrom('user' as const, 'system' as const), content: text }),
      fc.record({ role: fc.constant('assistant' as const), content: fc.option(text) }),
      fc.record({ role: fc.constant('assistant' as const), content: fc.option(text), tool_calls: calls }),
      fc.record({ role: fc.constant('tool' as const), tool_call_id: id, content: text }),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
        expect(conversationProblems(prepareMessages([user, ...messages], known('a', 'b')))).toEqual([]);
      }),
    );
  });
});

describe('toWorkflowTurn', () => {
  it('contains the last user message and the messages before it', () => {
    const last = {
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
      ],
    } as const;
    expect(toWorkflowTurn([user, assistant('Yes?'), last, assistant('Well')])).toEqual({
      prompt: 'Look',
      images: ['https://x.example/a.png'],
      history: [user, assistant('Yes?')],
    });
    expect(toWorkflowTurn([user])).toEqual({ prompt: 'Hi', images: [], history: [] });
  });
});
