import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { OpenAiError } from '../../errors/openai-error.js';
import type { AnswerEnd, AnswerPart } from './answer-part.js';
import { ChunkWriter, commentLine } from './chunk-writer.js';
import { CompletionBuilder } from './completion.js';

const head = { id: 'chatcmpl-0123456789ab', created: 1_700_000_000, model: 'helper "x"' };
const usage = { promptTokens: 3, completionTokens: 4, estimated: false };
const stop: AnswerEnd = { type: 'end', finishReason: 'stop', usage, error: null };
const failed: AnswerEnd = {
  ...stop,
  error: new OpenAiError({ status: 500, message: 'Agent execution failed', code: 'job_failed' }),
};
const calls: AnswerPart = {
  type: 'tool-calls',
  calls: [
    { id: 'a', name: 'f', arguments: '{"x":1}' },
    { id: 'b', name: 'g', arguments: 'not json' },
  ],
};
const text = (value: string): AnswerPart => ({ type: 'content', text: value });

function written(parts: readonly AnswerPart[], includeUsage = false): string {
  const writer = new ChunkWriter(head, { includeUsage });
  return writer.role() + parts.map((part) => writer.lines(part)).join('');
}

function dataOf(stream: string): readonly unknown[] {
  return stream
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line): unknown => JSON.parse(line.slice(6)));
}

const chunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  ...{ id: head.id, object: 'chat.completion.chunk', created: head.created, model: head.model },
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  ...more,
});
const toCall = (index: number, id: string, [name, args]: readonly [string, string]) => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }],
});

describe('ChunkWriter', () => {
  it('writes chunks in order, then [DONE]', () => {
    const stream = written([text('Hi'), stop]);
    expect(dataOf(stream)).toEqual([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hi' }),
      chunk({}, 'stop'),
    ]);
    expect(stream.endsWith('\n\ndata: [DONE]\n\n')).toBe(true);
  });

  it('writes the members of a chunk in the order of OpenAI', () => {
    expect(written([text('Hi')], true).split('\n\n')[1]).toBe(
      'data: {"id":"chatcmpl-0123456789ab","object":"chat.completion.chunk","created":1700000000,"model":"helper \\"x\\"",' +
        '"choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}],"usage":null}',
    );
  });

  it('writes one chunk for each client call and then the finish reason', () => {
    expect(dataOf(written([calls, { ...stop, finishReason: 'tool_calls' }])).slice(1)).toEqual([
      chunk(toCall(0, 'a', ['f', '{"x":1}'])),
      chunk(toCall(1, 'b', ['g', 'not json'])),
      chunk({}, 'tool_calls'),
    ]);
  });

  it('writes the usage in a chunk of its own when the client asked for it', () => {
    const none = { usage: null };
    const expectedUsage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
    const stream = written([text('Hi'), stop], true);
    expect(dataOf(stream)).toEqual([
      chunk({ role: 'assistant', content: '' }, null, none),
      chunk({ content: 'Hi' }, null, none),
      chunk({}, 'stop', none),
      { ...chunk({}), choices: [], usage: expectedUsage },
    ]);
    expect(stream).not.toContain(': usage estimated');
    const estimated = written([text('Hi'), { ...stop, usage: { ...usage, estimated: true } }], true);
    expect(estimated.split('\n\n').at(-4)).toBe(': usage estimated');
    expect(dataOf(estimated)).toEqual(dataOf(stream));
  });

  it('ends a failure with one standard chunk that names the error', () => {
    const error = { message: 'Agent execution failed', type: 'server_error', param: null, code: 'job_failed' };
    const stream = written([text('Hi'), failed]);
    expect(dataOf(stream).at(-1)).toEqual(chunk({ content: '\n\n[error] Agent execution failed' }, 'stop', { error }));
    expect(stream.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('keeps each chunk on one line for any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '\n', '\r', '\u2028', '\u0085', '"', '😀', ':') }),
        (value) => {
          const stream = written([text(value), { type: 'comment', text: value }, stop]);
          expect(dataOf(stream)[1]).toEqual(chunk({ content: value }));
          const lines = stream.split(/\r\n|[\n\r\u0085\u2028\u2029]/);
          expect(lines.filter((line) => line !== '' && !/^(data: [{[]|: )/.test(line))).toEqual([]);
        },
      ),
    );
  });

  it('writes comments outside of the chunks', () => {
    expect(commentLine('running a\nb')).toBe(': running a b\n\n');
  });
});

describe('completion body', () => {
  const build = (...parts: AnswerPart[]) => {
    const builder = new CompletionBuilder();
    for (const part of parts) builder.add(part);
    return builder.build(head);
  };

  it('contains the text and the usage of the response', () => {
    const { completion, usageEstimated } = build(text('Hel'), { type: 'comment', text: 'x' }, text('lo'), stop);
    expect(usageEstimated).toBe(false);
    expect(completion).toEqual({
      ...{ id: head.id, object: 'chat.completion', created: head.created, model: head.model },
      choices: [
        {
          ...{ index: 0, logprobs: null, finish_reason: 'stop' },
          message: { role: 'assistant', content: 'Hello', refusal: null },
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    });
  });

  it('sets `content` to null for calls without text', () => {
    const paused: AnswerEnd = { ...stop, finishReason: 'tool_calls' };
    const toolCalls = [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'b', type: 'function', function: { name: 'g', arguments: 'not json' } },
    ];
    const message = { role: 'assistant', refusal: null, tool_calls: toolCalls };
    expect(build(calls, paused).completion.choices[0].message).toEqual({ ...message, content: null });
    expect(build(text('Hm'), calls, paused).completion.choices[0].message).toEqual({ ...message, content: 'Hm' });
    expect(build({ ...stop, finishReason: 'length' }).completion.choices[0].message.content).toBe('');
  });

  it('throws the error of a failed response', () => {
    expect(() => build(text('Hi'), failed)).toThrow(failed.error ?? undefined);
  });
});
