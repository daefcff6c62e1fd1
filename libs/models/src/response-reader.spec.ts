import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { ModelPart } from './model/model.js';
import { ErrorInResponse, IncompleteResponse, ResponseReader } from './response-reader.js';

const newReader = () =>
  new ResponseReader({
    limits: { maxToolCalls: 9, maxArgumentsLength: 999 },
    newCallId: () => 'made',
    promptLength: 40,
  });

function read(documents: readonly unknown[], takeEach = false): ModelPart[] {
  const reader = newReader();
  const parts: ModelPart[] = [];
  for (const document of documents) {
    const text = typeof document === 'string' ? document : JSON.stringify(document);
    if (!reader.data(`data: ${text}\n`, 6, 6 + text.length)) reader.wholeDocument(text);
    if (takeEach) parts.push(...reader.take());
  }
  return [...parts, ...reader.finish()];
}

const delta = (value: unknown, finish: string | null = null) => ({
  id: 'x',
  choices: [{ index: 0, delta: value, finish_reason: finish }],
});
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const sent = { promptTokens: 3, completionTokens: 4, totalTokens: 7, estimated: false };
const stop = [delta({}, 'stop'), { choices: [], usage }, '[DONE]'];
const finish = (finishReason = 'stop', counted: unknown = sent) => ({ type: 'finish', finishReason, usage: counted });
const text = (value: string) => ({ type: 'text', text: value });
const reasoning = (value: string) => ({ type: 'reasoning', text: value });
const call = (id: string) => delta({ tool_calls: [{ index: 0, id, function: { name: 'one', arguments: '{}' } }] });

describe('ResponseReader', () => {
  it('joins the text, then emits the finish reason and the usage', () => {
    expect(
      read([delta({ role: 'assistant', content: '' }), delta({ content: 'Hel' }), delta({ content: 'lo' }), ...stop]),
    ).toEqual([text('Hello'), finish()]);
  });

  it.each([
    ['reasoning_content', [delta({ reasoning_content: 'hm' }), delta({ reasoning_content: 'm', content: null })]],
    ['reasoning', [delta({ reasoning: 'hm' }), delta({ reasoning: 'm' })]],
    [
      'both fields with the same text',
      [delta({ reasoning_content: 'hm', reasoning: 'hm' }), delta({ reasoning_content: 'm', reasoning: 'm' })],
    ],
    ['thinking pieces', [delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hmm' }] }] })]],
  ])('keeps reasoning sent as %s apart from text', (_, chunks) => {
    expect(read([...chunks, delta({ content: 'yes' }), ...stop])).toEqual([reasoning('hmm'), text('yes'), finish()]);
  });

  it('ignores text in lists of pieces that are nested more than three levels deep', () => {
    const nested = (levels: number): unknown =>
      Array.from({ length: levels }).reduce((inner) => [{ type: 'text', text: inner }], 'deep');
    const chunks = [3, 4, 400].map((levels) => delta({ content: nested(levels) }));
    expect(read([...chunks, delta({ content: '.' }), ...stop])).toEqual([text('deep.'), finish()]);
  });

  it.each([false, true])('ignores text after the finish reason (each piece read at once: %s)', (takeEach) => {
    const late = [delta({ content: 'late' }), delta({ reasoning: 'late' }), delta({ content: 'b' }, 'length')];
    const chunks = [delta({ content: 'a' }), delta({ content: 'b' }), delta({ content: 'c' }, 'stop'), ...late];
    const parts = read([...chunks, { choices: [], usage }, '[DONE]'], takeEach);

    expect(parts.filter(({ type }) => type !== 'text')).toEqual([finish()]);
    expect(parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')).toBe('abc');
  });

  it('keeps the order of text and reasoning', () => {
    const chunks = [delta({ content: 'a' }), delta({ reasoning: 'b' }), delta({ content: 'c' }), ...stop];
    expect(read(chunks)).toEqual([text('a'), reasoning('b'), text('c'), finish()]);
  });

  it('reads the first choice only', () => {
    const other = { index: 1, delta: { content: 'no' }, finish_reason: 'length' };
    const chunks = [{ choices: [other, { index: 0, delta: { content: 'yes' } }] }, { choices: [other] }, ...stop];
    expect(read(chunks)).toEqual([text('yes'), finish()]);
  });

  it('emits tool calls once, after all text', () => {
    const calls = { type: 'tool-calls', calls: [{ callId: 'a', name: 'one', arguments: '{}' }] };
    expect(read([call('a'), delta({ content: 'late' }), ...stop])).toEqual([text('late'), calls, finish('tool_calls')]);
    expect(read([call('a'), '[DONE]'])).toEqual([
      calls,
      finish('tool_calls', expect.objectContaining({ estimated: true })),
    ]);
    expect(read([delta({}, 'tool_calls'), call('a'), '[DONE]'])[0]).toEqual(calls);
    expect(read([delta({ function_call: { name: 'one', arguments: '{}' } }, 'function_call')])[0]).toMatchObject({
      calls: [{ callId: 'made', name: 'one' }],
    });
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content_filter', 'content_filter'],
    ['tool_calls', 'stop'],
    ['eos', 'other'],
  ])('maps the finish reason %s', (reason, understood) => {
    expect(read([delta({ content: 'x' }, reason), { usage }])).toEqual([text('x'), finish(understood)]);
  });

  it.each([
    ['nothing', []],
    ['text and no end', [delta({ content: 'x' })]],
    ['text and [DONE] without a finish reason', [delta({ content: 'x' }), '[DONE]']],
    ['tool calls and no end', [call('a')]],
    ['an empty finish reason', [delta({ content: 'x' }, '')]],
  ])('never treats %s as a complete response', (_, chunks) => {
    expect(() => read(chunks)).toThrow(IncompleteResponse);
  });

  it.each([['{"a":'], ['12'], ['null'], ['"text"'], ['[1]'], ['garbage']])(
    'throws IncompleteResponse for the chunk %s',
    (document) => {
      expect(() => read([delta({ content: 'x' }), document])).toThrow(IncompleteResponse);
    },
  );

  it.each([
    [{ error: { message: 'no' } }, { message: 'no' }],
    [{ error: 'no' }, 'no'],
    [{ choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { code: 502 } }] }, { code: 502 }],
  ])('throws an error inside the stream: %j', (chunk, error) => {
    expect(() => read([delta({ content: 'x' }), chunk])).toThrow(ErrorInResponse);
    expect(() => read([chunk])).toThrow(expect.objectContaining({ error }));
  });

  it('ignores members that are empty, unknown or of another type', () => {
    const chunks = [
      {},
      { choices: null },
      { choices: [null, 3] },
      { error: null, choices: [{ delta: null }] },
      { choices: [{ delta: { content: 5, tool_calls: 'x' } }] },
    ];
    expect(read([...chunks, delta({ content: 'x' }), ...stop])).toEqual([text('x'), finish()]);
  });

  it('emits a refusal of the model as text', () => {
    expect(read([delta({ refusal: 'I cannot.' }), ...stop])).toEqual([text('I cannot.'), finish()]);
  });

  it('reads the response of a server that does not stream', () => {
    const answer = {
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      usage,
    };
    expect(read([answer])).toEqual([text('x'), finish()]);
  });

  it.each([
    ['no usage', {}],
    ['zeros', { usage: { prompt_tokens: 0, completion_tokens: 0 } }],
    ['NaN', { usage: { prompt_tokens: null, completion_tokens: 5 } }],
    ['negative numbers', { usage: { prompt_tokens: -1, completion_tokens: 5 } }],
    ['half a token', { usage: { prompt_tokens: 1.5, completion_tokens: 5 } }],
  ])('estimates usage from %s and marks it as estimated', (_, chunk) => {
    const estimated = { promptTokens: 10, completionTokens: 2, totalTokens: 12, estimated: true };
    expect(read([delta({ content: 'hello' }, 'stop'), chunk])).toEqual([text('hello'), finish('stop', estimated)]);
  });

  it('uses the last usage and adds up a missing total', () => {
    const chunks = [
      { ...delta({ content: 'x' }), usage: { prompt_tokens: 1, completion_tokens: 1 } },
      delta({}, 'stop'),
      { x_groq: { usage: { prompt_tokens: 3, completion_tokens: 4 } } },
    ];
    expect(read(chunks)).toEqual([text('x'), finish()]);
  });

  it('normalises NUL and lone surrogates once, and keeps a pair that two chunks share', () => {
    const raw = (content: string) => `{"choices":[{"delta":{"content":"${content}"}}]}`;
    const parts = read(
      [
        raw('a\\u0000'),
        raw('\\ud83d'),
        raw('\\ude00'),
        raw('\\ud83d'),
        raw('x'),
        raw('\\udc00'),
        raw('\\ud83d'),
        ...stop,
      ],
      true,
    );
    expect(parts.map((part) => (part.type === 'text' ? part.text : '')).join('')).toBe('a\uFFFD😀\uFFFDx\uFFFD\uFFFD');
  });

  it('reads by its shortcut the same parts as by parsing', () => {
    const member = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('"', '\\', '\\"', '","delta":{"content":"x', '\ud83d', '\u0000', ''),
    );
    const field = fc.constantFrom('content', 'reasoning', 'reasoning_content');
    fc.assert(
      fc.property(fc.array(fc.tuple(field, member), { maxLength: 20 }), (texts) => {
        const chunks = texts.map(([name, value]) => delta({ [name]: value }));
        // The odd member out keeps each chunk from looking like the one before.
        const slow = chunks.map((chunk, at) => ({ at, ...chunk }));
        expect(read([...chunks, ...stop])).toEqual(read([...slow, ...stop]));
      }),
      { numRuns: 500 },
    );
  });

  it('reads every one of several equal network reads', () => {
    const member = fc.constantFrom('a', '\n', 'b\n', '"', '\\');
    fc.assert(
      fc.property(fc.array(member, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 3 }), (texts, times) => {
        const reader = newReader();
        const lines = texts.map((content) => JSON.stringify(delta({ content })));
        for (let time = 0; time <= times; time += 1) {
          const block = `${lines.join('\n')}\n`;
          let start = 0;
          for (const line of lines) {
            reader.data(block, start, start + line.length);
            start += line.length + 1;
          }
        }
        expect(reader.take()).toEqual([text(texts.join('').repeat(times + 1))]);
      }),
    );
  });

  it('uses the last of two `content` members', () => {
    const chunks = [
      delta({ content: 'x' }),
      '{"id":"x","choices":[{"index":0,"delta":{"content":"a","content":"b"},"finish_reason":null}]}',
      ...stop,
    ];
    expect(read(chunks)).toEqual([text('xb'), finish()]);
  });

  it('searches the first 100 lines outside the event stream for an error', () => {
    const readLines = (count: number) => {
      const reader = newReader();
      for (let i = 0; i < count; i++) reader.unknownLine('{"progress":1}');
      reader.unknownLine('{"error":"overloaded"}');
    };
    expect(() => {
      readLines(99);
    }).toThrow(ErrorInResponse);
    expect(() => {
      readLines(100);
    }).not.toThrow();
  });

  it('refuses a chunk of more than 100,000 JSON tokens, but reads a long text', () => {
    const others = (count: number) => ({ ...delta({ content: 'x' }), others: Array.from({ length: count }, () => 0) });
    expect(read([others(90_000), ...stop])).toEqual([text('x'), finish()]);
    expect(() => read([others(100_000), ...stop])).toThrow(IncompleteResponse);
    const long = ',[]'.repeat(500_000);
    expect(read([delta({ content: long }), ...stop])).toEqual([text(long), finish()]);
  });
});
