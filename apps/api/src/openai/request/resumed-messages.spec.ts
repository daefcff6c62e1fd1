import { describe, expect, it } from '@jest/globals';

import type { ChatMessage } from '#models';

import { readContinuation } from './continuation.js';
import { continuesRun, resumedMessages } from './resumed-messages.js';

let reads = 0;
/** Counts how often its content is read: once for each serialization. */
const user = (text: string): ChatMessage => ({
  role: 'user',
  get content() {
    reads += 1;
    return text;
  },
});
const count = 1_000;
const users = (prefix: string) => Array.from({ length: count }, (_, i) => user(`${prefix}${i}`));
const calls = (id: string, text = '{}'): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: text } }],
});
const result = (id: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content: 'x' });

describe('comparing a request with a stored run', () => {
  it('serializes each message once when results are sent again', () => {
    const done = [calls('a'), result('a'), ...users('said ')];
    // SDKs write arguments again, so the comparison from the start ends at the calls.
    const messages = [user('Hi'), calls('a', '{ }'), result('a'), ...users('said '), user('new')];
    reads = 0;
    const resumed = resumedMessages(messages, { asked: [user('Hi')], done }, readContinuation(messages));
    expect(resumed).toHaveLength(count + 4);
    expect(reads).toBeLessThan(4 * count);
  });

  it('serializes each message once when pending call ids occur earlier in the history', () => {
    const done = [calls('a'), result('a'), ...users('said ')];
    const request = [user('Hi'), calls('a'), result('a'), user('between'), ...users('said ').toReversed(), calls('b')];
    reads = 0;
    expect(continuesRun(request, { asked: [user('Hi')], done })).toBe(false);
    expect(continuesRun([user('Hi'), ...users('said ').toReversed(), calls('b')], { asked: [user('Hi')], done })).toBe(
      true,
    );
    expect(reads).toBeLessThan(8 * count);
  });
});
