import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { OpenAiError } from '../../errors/openai-error.js';
import { parseCompletionHeaders } from './completion-headers.js';
import { type CompletionRequest, parseCompletionRequest } from './completion-request.js';

const messages = [{ role: 'user', content: 'Hi' }];
const plain = { model: 'helper', messages };

function refusalOf(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    return error instanceof OpenAiError ? [error.status, error.message, error.param, error.code] : error;
  }
  return 'accepted';
}
const parse = (change: object): CompletionRequest => parseCompletionRequest({ ...plain, ...change }, 2_000);
const refusal = (change: object) => refusalOf(() => parse(change));

describe('completion body', () => {
  it('parses a body and fills in defaults', () => {
    expect(parse({})).toMatchObject({
      ...{ model: 'helper', messages, tools: [], toolChoice: null, parameters: {}, about: {}, ignored: [] },
      ...{ stream: false, includeUsage: false },
    });
    const nulls = { tools: null, tool_choice: null, stop: null, stream: null, stream_options: null, n: null, x: null };
    expect({ ...parse(nulls), bodyHash: '' }).toEqual({ ...parse({}), bodyHash: '' });
  });

  it('passes sampling fields to the provider', () => {
    const parameters = {
      ...{ temperature: 0.5, top_p: 1, max_tokens: 5, max_completion_tokens: 6, stop: ['a', 'b'], seed: 7 },
      ...{ presence_penalty: 0.1, frequency_penalty: -0.1, reasoning_effort: 'low', parallel_tool_calls: false },
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
    };
    const about = { user: 'u', metadata: { a: 'b' }, store: true };
    expect(parse({ ...parameters, ...about })).toMatchObject({ parameters, about, ignored: [] });
  });

  it('ignores fields that the server does not use', () => {
    expect(parse({ service_tier: 'auto', n: 1, logprobs: false, modalities: ['text'], frobnicate: 1 })).toMatchObject({
      ignored: ['service_tier', 'frobnicate'],
    });
  });

  const invalid = [400, 'Invalid request body', null, null];
  it.each([
    ['text', 'x'],
    ['an array', []],
    ['null', null],
    ['empty', undefined],
  ])('rejects a body that is %s', (_, body) => {
    expect(refusalOf(() => parseCompletionRequest(body, 2_000))).toEqual(invalid);
  });

  it.each([
    ['messages', undefined],
    ['messages', []],
    ['messages', 'Hi'],
    ['messages', null],
  ])('rejects a body with an invalid `%s`: %p', (name, value) => {
    const refused = [400, 'Messages array is required and must not be empty', 'messages', null];
    expect(refusal({ [name]: value })).toEqual(refused);
  });

  it('rejects a body without a model', () => {
    for (const model of [undefined, null, ''])
      expect(refusal({ model })).toEqual([400, 'Model is required', 'model', null]);
  });

  it.each([
    [{ model: 5 }, 'model: must be a text'],
    [{ temperature: '1' }, 'temperature: must be a number'],
    [{ max_tokens: -1 }, 'max_tokens: must be more than 0'],
    [{ stream: 'true' }, 'stream: must be true or false'],
    [{ n: '2' }, 'n: must be 1'],
    [{ n: 0.5 }, 'n: must be 1'],
    [{ logprobs: 'yes' }, 'logprobs: must be false'],
    [{ stop: [1] }, 'stop[0]: must be a text'],
    [{ stop: 1 }, 'stop: must be a text or a list'],
    [{ tools: { a: 1 } }, 'tools: must be a list'],
    [{ tools: Array.from({ length: 1_001 }, () => ({})) }, 'tools: at most 1000 entries fit in a request'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type: must be "function"'],
    [
      { tools: ['calculate'] },
      'tools[0]: must be an object such as {"type": "function", "function": {"name": "calculate"}}',
    ],
    [{ tool_choice: 'f' }, 'tool_choice: must be "auto", "none", or "required" or an object'],
    [{ messages: ['Hi'] }, 'messages[0]: must be an object'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role: '],
    [{ messages: [{ role: 'user', content: 5 }] }, 'messages[0].content: must be a text or a list'],
    [
      { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] },
      'messages[0].content[0].type: ',
    ],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id: is missing; it must be a text'],
    [{ messages: [{ role: 'assistant', tool_calls: [{ id: 'a' }] }] }, 'messages[0].tool_calls[0].function: '],
    [{ metadata: 'x' }, 'metadata: must be an object'],
    [{ metadata: { a: 'x'.repeat(513) } }, 'metadata.a: must be a text of at most 512 characters'],
    [{ metadata: { ['k'.repeat(65)]: 'x' } }, 'metadata'],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'x'])) },
      'metadata: must have at most 16 keys',
    ],
  ])('rejects a field of a wrong type and names it: %j', (change, problem) => {
    const message = expect.stringContaining(`Invalid request body: ${problem}`);
    expect(refusal(change)).toEqual([400, message, null, null]);
  });

  it('bounds the length of names, ids and options', () => {
    const text = (most: number) => 'x'.repeat(most + 1);
    const cases: readonly (readonly [object, string])[] = [
      [{ tool_choice: { type: 'function', function: { name: text(256) } } }, 'tool_choice'],
      [{ stop: text(1_024) }, 'stop'],
      [{ user: text(1_024) }, 'user: must be a text of at most 1024 characters'],
      [{ reasoning_effort: text(64) }, 'reasoning_effort: must be a text of at most 64 characters'],
      [
        { messages: [{ role: 'user', content: 'x', name: text(256) }] },
        'messages[0].name: must be a text of at most 256',
      ],
      [{ messages: [{ role: 'tool', content: 'x', tool_call_id: text(1_024) }] }, 'messages[0].tool_call_id: must be'],
    ];
    for (const [change, problem] of cases) {
      const [status, message] = refusal(change) as readonly [number, string]; // as above
      expect([status, message]).toEqual([400, expect.stringContaining(`Invalid request body: ${problem}`)]);
      expect(message).not.toContain(text(63));
    }
  });

  it('rejects a value that is nested too deeply and names the field', () => {
    const deep = Array.from({ length: 1_000 }).reduce((inner) => ({ inner }), {});
    expect(refusal({ frobnicate: deep })).toEqual([
      400,
      'Invalid request body: frobnicate: nested too deep',
      null,
      null,
    ]);
  });

  it('treats the empty value of an optional field as an absent field', () => {
    const empty = {
      ...{ logit_bias: {}, functions: [], top_logprobs: 0, logprobs: 0, n: 0, audio: {}, modalities: [] },
      ...{ tools: [], tool_choice: {}, stop: [], max_tokens: 0, max_completion_tokens: 0, response_format: {} },
      ...{ function_call: null, top_p: null, metadata: {}, stream_options: {}, prediction: {} },
    };
    expect({ ...parse(empty), bodyHash: '' }).toEqual({ ...parse({}), bodyHash: '' });
  });

  it('keeps 0 in fields where 0 is a valid value', () => {
    const parameters = { temperature: 0, top_p: 0, seed: 0, presence_penalty: 0, frequency_penalty: 0 };
    expect(parse(parameters)).toMatchObject({ parameters });
  });

  it.each([
    ['n', 2],
    ['logprobs', true],
    ['top_logprobs', 1],
    ['logit_bias', { 50256: -100 }],
    ['audio', { voice: 'x' }],
    ['functions', [{ name: 'f' }]],
    ['function_call', 'auto'],
    ['modalities', ['text', 'audio']],
  ])('rejects the unsupported field %s by name', (name, value) => {
    expect(refusal({ [name]: value })).toEqual([
      400,
      `Unsupported parameter: '${name}'`,
      name,
      'unsupported_parameter',
    ]);
  });

  it('converts the messages to a conversation', () => {
    const image = { type: 'image_url', image_url: { url: 'data:,', detail: 'low' } };
    const given = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Look' }, image], name: 'Ann' },
      { role: 'user', content: null },
      {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{' } }],
      },
      {
        role: 'tool',
        tool_call_id: 'a',
        content: [
          { type: 'text', text: 'o' },
          { type: 'text', text: 'k' },
        ],
      },
      { role: 'tool', tool_call_id: 'b', content: null },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    ];
    expect(parse({ messages: given }).messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Look' }, image], name: 'Ann' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
      { role: 'tool', tool_call_id: 'b', content: '' },
      { role: 'assistant', content: 'No.' },
    ]);
  });

  it('converts the functions to tool definitions', () => {
    const parameters = { type: 'object', properties: {} };
    const asked = { name: 'f', description: null, parameters, strict: true };
    expect(parse({ tools: [{ type: 'function', function: asked }], tool_choice: 'required' })).toMatchObject({
      tools: [{ type: 'function', function: { name: 'f', parameters, strict: true } }],
      toolChoice: 'required',
    });
  });

  it('computes one hash for every order of members, with or without streaming', () => {
    const hash = parse({ temperature: 1 }).bodyHash;
    expect(hash).toMatch(/^[\da-f]{64}$/);
    expect(parseCompletionRequest({ temperature: 1, messages, model: 'helper' }, 2_000).bodyHash).toBe(hash);
    expect(parse({ temperature: 1, stream: true, stream_options: { include_usage: true } }).bodyHash).toBe(hash);
    expect(parse({ temperature: 2 }).bodyHash).not.toBe(hash);
    expect(parse({ temperature: 1, unknown: 1 }).bodyHash).not.toBe(hash);
  });

  it('parses any JSON or rejects it with a documented error message', () => {
    const names = [
      'model',
      'messages',
      'tools',
      'tool_choice',
      'n',
      'stop',
      'metadata',
      'stream_options',
      '__proto__',
      'x',
    ];
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSparseArray: true,
    });
    const body = fc.oneof(
      anything,
      fc.dictionary(fc.constantFrom(...names), anything).map((change) => ({ ...plain, ...change })),
    );
    fc.assert(
      fc.property(body, (given) => {
        const refused = refusalOf(() => parseCompletionRequest(given, 2_000));
        expect(refused === 'accepted' || Array.isArray(refused)).toBe(true);
      }),
    );
  });
});

describe('completion headers', () => {
  const none = {
    format: null,
    sessionId: null,
    frontEndSessionId: null,
    idempotencyKey: null,
    onDisconnect: 'continue',
  };
  it.each([
    [{}, {}],
    [{ 'x-tool-event-format': 'INLINE' }, { format: 'inline' }],
    [{ 'x-tool-event-format': 'Open-WebUI' }, { format: 'open-webui' }],
    [
      { 'x-tool-event-format': 'openai', 'x-session-id': 's' },
      { format: 'openai', sessionId: 's' },
    ],
    [{ 'x-session-id': '~'.repeat(200) }, { sessionId: '~'.repeat(200) }],
    [{ 'x-librechat-conversation-id': 'l', 'x-openwebui-chat-id': 'o' }, { frontEndSessionId: 'l' }],
    [{ 'x-librechat-conversation-id': 'not an id', 'x-openwebui-chat-id': 'o' }, { frontEndSessionId: 'o' }],
    [{ 'idempotency-key': 'k', 'x-client-request-id': 'r' }, { idempotencyKey: 'k' }],
    [{ 'x-client-request-id': 'r' }, {}],
    [{ 'x-on-disconnect': 'Cancel' }, { onDisconnect: 'cancel' }],
    [{ 'x-on-disconnect': 'x' }, {}],
  ])('select the format of the response: %j', (given, expected) => {
    expect(parseCompletionHeaders(given)).toEqual({ ...none, ...expected });
  });

  it.each([
    [{ 'x-tool-event-format': 'XML' }, 'Unsupported X-Tool-Event-Format: XML', 'x-tool-event-format'],
    [{ 'x-session-id': 'a b' }, 'Invalid X-Session-Id', 'x-session-id'],
    [{ 'x-session-id': '' }, 'Invalid X-Session-Id', 'x-session-id'],
    [{ 'x-session-id': 'x'.repeat(201) }, 'Invalid X-Session-Id', 'x-session-id'],
    [{ 'idempotency-key': 'ü' }, 'Invalid Idempotency-Key', 'idempotency-key'],
    [{ 'idempotency-key': 'x'.repeat(256) }, 'Invalid Idempotency-Key', 'idempotency-key'],
  ])('cause an error that names the invalid header: %j', (given, message, param) => {
    expect(refusalOf(() => parseCompletionHeaders(given))).toEqual([400, message, param, null]);
  });
});
