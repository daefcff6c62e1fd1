import { expect, it } from '@jest/globals';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import fc from 'fast-check';

import { sseFrame } from './sse-frame.js';

function read(text: string): EventSourceMessage[] {
  const messages: EventSourceMessage[] = [];
  createParser({ onEvent: (message) => messages.push(message) }).feed(text);
  return messages;
}

it('an SSE frame omits absent fields', () => {
  expect(sseFrame({ data: 1 })).toBe('data: 1\n\n');
  expect(sseFrame({ event: 'closed', data: {} })).toBe('event: closed\ndata: {}\n\n');
});

it('an SSE frame contains every text as one line of data', () => {
  const text = 'a\nb\r\nc\rd\u2028e\0f\ud83d';
  const [message] = read(sseFrame({ id: 3, event: 'text-delta', data: { text } }));
  expect(message).toMatchObject({ id: '3', event: 'text-delta' });
  expect(JSON.parse(message?.data ?? '')).toEqual({ text });
});

it('an independent parser reads the same text from an SSE frame, for any text', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(), fc.string({ unit: 'binary' }))), (sent) => {
      const messages = read(sent.map(([id, text]) => sseFrame({ id, event: 'x', data: { text } })).join(''));
      expect(messages.map(({ id, data }) => [Number(id), (JSON.parse(data) as { text: string }).text])).toEqual(sent);
    }),
  );
});
