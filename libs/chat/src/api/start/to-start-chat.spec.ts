import { describe, expect, it } from '@jest/globals';

import { AppError } from '#platform';

import { type StartInput, toStartChat } from './to-start-chat.js';

const plain = { threadId: 't1', messageId: 'm1', messages: [{ role: 'user', content: 'hi' }] };

function start(body: unknown, change: Partial<StartInput> = {}) {
  return toStartChat({ body, headers: {}, mayCreateThread: true, mustSayBackground: false, ...change });
}

function refusal(body: unknown, change: Partial<StartInput> = {}): unknown {
  try {
    start(body, change);
  } catch (error) {
    return error instanceof AppError ? [error.code, error.message, error.field] : error;
  }
  return 'accepted';
}

function hashOf(body: unknown): string | undefined {
  return start(body, { headers: { 'idempotency-key': 'k' } }).idempotency?.requestHash;
}

describe('toStartChat control fields', () => {
  it('accepts control fields with and without underscore', () => {
    const marked = Object.fromEntries(Object.entries(plain).map(([k, v]) => [k === 'messages' ? k : `_${k}`, v]));
    expect(start(marked)).toEqual(start(plain));
    expect(start(plain)).toMatchObject({ threadRef: 't1', messageClientId: 'm1', createThread: true });
  });

  it('with an underscore take precedence over those without', () => {
    expect(start({ ...plain, _threadId: 't2' }).threadRef).toBe('t2');
  });

  it('do not reach the model', () => {
    const body = { ...plain, _clientDeviceId: 'd', clientTools: true, _background: true, stream: true, metadata: {} };
    expect(start(body).parameters).toEqual({});
  });

  it('create no thread when the caller may not create one', () => {
    expect(start(plain, { mayCreateThread: false }).createThread).toBe(false);
  });
});

describe('toStartChat request', () => {
  it('contains model, tools, tool choice, runtimes and sampling fields', () => {
    const tools = [{ type: 'function', function: { name: 'calculate', parameters: { type: 'object' } } }];
    const request = start({
      ...plain,
      model: 'm',
      tools,
      tool_choice: 'required',
      _toolRuntime: { calculate: 'server' },
      temperature: 0.2,
      max_tokens: 100,
      provider: { order: ['a'] },
      _whenBusy: 'enqueue',
      _backgroundMode: { any: ['thing'] },
    });
    expect(request).toMatchObject({
      model: 'm',
      tools,
      toolChoice: 'required',
      toolRuntimes: { calculate: 'server' },
      parameters: { temperature: 0.2, max_tokens: 100, provider: { order: ['a'] } },
      whenBusy: 'enqueue',
      backgroundMode: { any: ['thing'] },
      history: 'request',
    });
  });

  it('lets clients run tools only if the request asks for it, on one device or on any', () => {
    expect(start(plain)).not.toHaveProperty('client');
    expect(start({ ...plain, _clientTools: false, _clientDeviceId: '' })).not.toHaveProperty('client');
    expect(start({ ...plain, _clientTools: true }).client).toEqual({ deviceId: null, tools: {} });
    expect(start({ ...plain, _clientDeviceId: 'd' }).client).toEqual({ deviceId: 'd', tools: {} });
    expect(refusal({ ...plain, _clientDeviceId: 'd'.repeat(257) })).toEqual(
      expect.arrayContaining(['_clientDeviceId']),
    );
  });

  it('with a client is refused for a tool that no client can be asked to run, unless the server runs it', () => {
    const tools = [{ type: 'function', function: { name: 'open file' } }];
    expect(start({ ...plain, tools }).tools).toHaveLength(1);
    expect(refusal({ ...plain, tools, _clientTools: true })).toEqual(['bad_request', expect.any(String), 'tools']);
    const runtimes = { _clientTools: true, _toolRuntime: { 'open file': 'server' } };
    expect(start({ ...plain, tools, ...runtimes }).tools).toHaveLength(1);
  });

  it('treats null as absent', () => {
    expect(start({ ...plain, model: null, tools: null, temperature: null })).toEqual(start(plain));
  });

  it('keeps the parts of a message and its calls', () => {
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'look' }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'r' },
    ];
    expect(start({ ...plain, messages }).messages).toEqual(messages);
  });

  it('replaces text that Postgres cannot store', () => {
    const [message] = start({ ...plain, messages: [{ role: 'user', content: 'a\0b\ud800' }] }).messages;
    expect(message).toEqual({ role: 'user', content: 'a\uFFFDb\uFFFD' });
  });

  it('ignores the member `__proto__` of a body', () => {
    start(
      JSON.parse(
        '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'.replace(
          '}}}',
          '}},"threadId":"t","messageId":"m","messages":[]}',
        ),
      ),
    );
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('toStartChat validation', () => {
  it.each([
    [null, undefined, 'Invalid request body: it must be a JSON object', undefined],
    [undefined, undefined, 'Invalid request body: it must be a JSON object', undefined],
    [[plain], undefined, 'Invalid request body: it must be a JSON object', undefined],
    ['text', undefined, 'Invalid request body: it must be a JSON object', undefined],
    [{ ...plain, threadId: undefined }, undefined, 'Missing _threadId', '_threadId'],
    [{ ...plain, threadId: '' }, undefined, 'Missing _threadId', '_threadId'],
    [{ ...plain, messageId: null }, undefined, 'Missing _messageId', '_messageId'],
    [{ ...plain, messages: undefined }, undefined, 'Missing messages', 'messages'],
    [{ ...plain, threadId: 5 }, undefined, 'Invalid request body: _threadId must be a text', '_threadId'],
    [
      { ...plain, threadId: 'x'.repeat(257) },
      undefined,
      'Invalid request body: _threadId must be a text of at most 256 characters',
      '_threadId',
    ],
    [{ ...plain, messages: 'hi' }, undefined, 'Invalid request body: messages must be a list', 'messages'],
    [
      { ...plain, messages: [{ content: 'hi' }] },
      undefined,
      'Invalid request body: messages.0.role is missing; it must be a text',
      'messages',
    ],
    [
      { ...plain, messages: [{ role: 'wizard', content: 'hi' }] },
      undefined,
      'Invalid request body: messages.0.role must be system, developer, user, assistant or tool',
      'messages',
    ],
    [
      { ...plain, messages: [{ role: 'user' }] },
      undefined,
      'Invalid request body: messages.0.content must be a text or a list of parts',
      'messages',
    ],
    [
      { ...plain, tools: ['calculate'] },
      undefined,
      'Invalid request body: tools.0 must be an object such as {"type": "function", "function": {"name": "calculate"}}',
      'tools',
    ],
    [{ ...plain, model: 7 }, undefined, 'Invalid request body: model must be a text', 'model'],
    [{ ...plain, temperature: 'hot' }, undefined, 'Invalid request body: temperature must be a number', 'temperature'],
    [{ ...plain, max_tokens: -1 }, undefined, 'Invalid request body: max_tokens must be more than 0', 'max_tokens'],
    [
      { ...plain, tools: [{ type: 'function' }] },
      undefined,
      'Invalid request body: tools.0.function is missing; it must be an object',
      'tools',
    ],
    [
      { ...plain, tool_choice: 'maybe' },
      undefined,
      'Invalid request body: tool_choice must be "auto", "none", or "required" or an object',
      'tool_choice',
    ],
    [
      { ...plain, toolRuntime: { a: 'moon' } },
      undefined,
      'Invalid request body: _toolRuntime.a must be "client", "server", or "hybrid"',
      '_toolRuntime',
    ],
    [
      { ...plain, clientDeviceId: 'x'.repeat(257) },
      undefined,
      'Invalid request body: _clientDeviceId must be a text of at most 256 characters',
      '_clientDeviceId',
    ],
    [
      { ...plain, clientTools: 'yes' },
      undefined,
      'Invalid request body: _clientTools must be true or false',
      '_clientTools',
    ],
    [
      { ...plain, whenBusy: 'wait' },
      undefined,
      'Invalid request body: _whenBusy must be "reject", "enqueue", or "interrupt"',
      '_whenBusy',
    ],
    [
      { ...plain, temperature: Number.POSITIVE_INFINITY },
      undefined,
      'Invalid request body: it has a value that cannot be stored',
      undefined,
    ],
    [plain, { mustSayBackground: true }, 'Only background requests are served here', '_background'],
    [
      { ...plain, _background: 'true' },
      { mustSayBackground: true },
      'Only background requests are served here',
      '_background',
    ],
    [{}, { mustSayBackground: true }, 'Only background requests are served here', '_background'],
  ])('rejects the body %j with %j: %s', (body, change, ...expected) => {
    expect(refusal(body, change)).toEqual(['bad_request', ...expected]);
  });

  it('rejects nesting that is too deep to store', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`);
    expect(refusal({ ...plain, backgroundMode: deep })).toEqual([
      ...['bad_request', 'Invalid request body: it has a value that cannot be stored', undefined],
    ]);
  });
});

describe('idempotency key', () => {
  it('comes from the header, else from the body, else is absent', () => {
    expect(start(plain).idempotency).toBeNull();
    expect(start({ ...plain, _admissionId: 'a' }).idempotency?.key).toBe('a');
    expect(start({ ...plain, admissionId: 'a' }, { headers: { 'idempotency-key': 'h' } }).idempotency?.key).toBe('h');
  });

  it.each(['', 'a b', 'ä', 'x'.repeat(256), 'a\nb'])('rejects the key %j', (key) => {
    expect(refusal(plain, { headers: { 'idempotency-key': key } })).toMatchObject([
      'bad_request',
      expect.any(String),
      '_admissionId',
    ]);
  });

  it('gives a request the same hash in any order of its members', () => {
    const { threadId, messageId, messages } = plain;
    expect(hashOf({ messages, messageId, threadId })).toBe(hashOf(plain));
  });

  it('hashes the whole request except `backgroundMode`', () => {
    expect(hashOf({ ...plain, _backgroundMode: 1, backgroundMode: 2 })).toBe(hashOf(plain));
    expect(hashOf({ ...plain, temperature: 1 })).not.toBe(hashOf(plain));
    expect(hashOf({ ...plain, unknown: 1 })).not.toBe(hashOf(plain));
  });
});

describe('provider key', () => {
  it.each([
    [{ 'x-or3-openrouter-key': 'sk-or3-key-000' }, 'sk-or3-key-000'],
    [{ 'x-provider-key': 'sk-other-key-0' }, 'sk-other-key-0'],
    [{ 'x-or3-openrouter-key': 'first', 'x-provider-key': 'second' }, 'first'],
    [{ 'x-or3-openrouter-key': '', 'x-provider-key': 'second' }, 'second'],
  ])('comes from the headers %j: %s', (headers, key) => {
    expect(start(plain, { headers }).providerKey?.reveal()).toBe(key);
  });

  it('reads no key without a header, and never prints one', () => {
    expect(start(plain).providerKey).toBeNull();
    expect(JSON.stringify(start(plain, { headers: { 'x-provider-key': 'sk-canary' } }))).not.toContain('canary');
  });

  it('rejects a key that no header can carry', () => {
    expect(refusal(plain, { headers: { 'x-provider-key': 'a b' } })).toMatchObject([
      'bad_request',
      'Invalid model API key',
      'x-provider-key',
    ]);
  });
});
