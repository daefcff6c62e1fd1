import { describe, expect, it } from '@jest/globals';

import { readDelivery, readWebhookPath, requestedWork } from './syntrix-delivery.js';

const chatPath = 'users/demo-user/orch-chats/chat-1';
/** The example of the worker's specification. */
const hello = {
  triggerId: 'on-user-message',
  event: 'create',
  collection: `${chatPath}/messages`,
  docKey: `${chatPath}/messages/msg-1`,
  after: { role: 'user', content: 'Hello', createdAt: 1_234_567_890 },
  ts: 1_234_567_890,
};
const read = (body: unknown, options: { webhookId?: string; toolCollection?: string } = {}) =>
  readDelivery(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), {
    toolCollection: 'toolcall',
    ...options,
  });
const orderOf = (body: unknown) => {
  const delivery = read(body);
  if (typeof delivery === 'string') throw new Error(delivery);
  return delivery.order;
};
const keyOf = (body: unknown, webhookId?: string) => {
  const delivery = read(body, webhookId === undefined ? {} : { webhookId });
  if (typeof delivery === 'string') throw new Error(delivery);
  return delivery.key;
};

describe('readWebhookPath', () => {
  it.each([
    ['/webhook/llm', { route: 'llm', connection: 'default' }],
    ['/webhook/tool?a=b', { route: 'tool', connection: 'default' }],
    ['/webhook/my%20chats/tool', { route: 'tool', connection: 'my chats' }],
    ['/webhook/llm/llm', { route: 'llm', connection: 'llm' }],
    ['/webhook', null],
    ['/webhook/llm/', null],
    ['/webhook/a/b/llm', null],
    ['/webhook/%/llm', null],
    ['/hooks/llm', null],
  ])('reads the route and the connection of %s', (path, expected) => {
    expect(readWebhookPath(path)).toEqual(expected);
  });
});

describe('readDelivery', () => {
  it('reads the chat, the user and the document of a delivery', () => {
    expect(read(hello)).toMatchObject({
      chat: { chatPath, chatId: 'chat-1', userId: 'demo-user' },
      isToolCall: false,
      documentPath: `${chatPath}/messages/msg-1`,
      document: { id: 'msg-1', role: 'user', content: 'Hello' },
      preIssuedToken: null,
    });
  });

  it.each([
    ['documentId beside collection', { docKey: undefined, documentId: 'msg-1' }],
    ['documentId as a full path', { docKey: undefined, collection: undefined, documentId: hello.docKey }],
    ['docKey without a path', { docKey: 'msg-1' }],
    ['payload in place of after', { after: undefined, payload: hello.after }],
  ])('accepts %s', (_, changes) => {
    expect(read({ ...hello, ...changes })).toMatchObject({
      documentPath: hello.docKey,
      document: { content: 'Hello' },
    });
  });

  it.each([
    ['toolcall', {}, true],
    ['tool-calls', {}, true],
    ['steps', { toolCollection: 'steps' }, true],
    ['messages', {}, false],
  ])('detects whether %s contains tool calls', (name, options, isToolCall) => {
    expect(read({ ...hello, docKey: `${chatPath}/${name}/d` }, options)).toMatchObject({ isToolCall });
  });

  it.each([
    ['another collection', { ...hello, docKey: `${chatPath}/notes/n` }],
    ['fewer than five segments', { ...hello, docKey: 'users/u/messages/m' }],
    ['no document id', { ...hello, docKey: undefined }],
    ['an empty segment', { ...hello, docKey: 'users//orch-chats/c/messages/m' }],
    ['a parent segment', { ...hello, docKey: 'users/../orch-chats/c/messages/m' }],
    ['no path', { triggerId: 'on-tool-pending', after: { toolName: 'x' } }],
  ])('refuses %s as a path', (_, body) => {
    expect(read(body)).toBe('Invalid path');
  });

  it.each(['', '[]', '"text"', 'null', '{"a":', '\u0000'])('refuses the payload %j', (body) => {
    expect(read(body)).toBe('Invalid payload');
  });

  it('identifies repetitions by the first identity that the delivery has', () => {
    const ts = { ...hello, ts: 1_234_567_890_000 };
    expect(keyOf(ts)).toBe(keyOf(hello)); // a small `ts` is in seconds
    expect(keyOf({ ...hello, after: { ...hello.after, content: 'Bye' } })).not.toBe(keyOf(hello));
    const seq = { ...hello, seq: 4 };
    expect(keyOf({ ...seq, ts: 5 })).toBe(keyOf(seq));
    const lsn = { ...seq, lsn: '0/1' };
    expect(keyOf({ ...lsn, seq: 5 })).toBe(keyOf(lsn));
    const id = { ...lsn, deliveryId: 'd1' };
    expect(keyOf({ ...id, lsn: '0/2' })).toBe(keyOf(id));
    expect(keyOf({ ...id, deliveryId: 'd2' }, 'w1')).toBe(keyOf(id, 'w1'));
    expect(new Set([hello, seq, lsn, id].map((body) => keyOf(body))).size).toBe(4);
  });
});

describe('the order of deliveries', () => {
  it.each([
    [
      'seq, before all others',
      [
        { seq: 9, lsn: '2', ts: 3 },
        { seq: 10, lsn: '1', ts: 2 },
        { seq: '11', lsn: '0', ts: 1 },
      ],
    ],
    [
      'lsn, before ts',
      [
        { lsn: 9, ts: 2 },
        { lsn: '10', ts: 1 },
      ],
    ],
    ['lsn of Postgres', [{ lsn: '0/FFFFFFFF' }, { lsn: '1/0' }, { lsn: 'A/1' }]],
    ['ts, in seconds or ms', [{ ts: 1_234_567_890 }, { ts: 1_234_567_890_001 }]],
    ['a missing value first', [{ ts: 5 }, { lsn: '1', ts: 4 }, { seq: 1, ts: 3 }]],
    [
      'a value that is no number as a missing one',
      [
        { seq: '1e9', ts: 1 },
        { seq: -5, ts: 2 },
        { seq: 0, ts: 0 },
      ],
    ],
  ])('follows %s', (_, changes) => {
    const orders = changes.map((change) => orderOf({ ...hello, ts: undefined, ...change }));
    expect(orders).toEqual(orders.toSorted());
    expect(new Set(orders).size).toBe(changes.length);
  });
});

describe('requestedWork', () => {
  const create = (isToolCall: boolean) => ({ event: 'create', isToolCall });
  it.each([
    ['llm', create(false), { role: 'user' }, 'answer'],
    ['llm', create(false), { role: 'assistant' }, null],
    ['llm', create(true), { status: 'success' }, 'answer'],
    ['llm', create(true), { status: 'failed' }, 'answer'],
    ['llm', create(true), { status: 'pending' }, null],
    ['llm', { event: 'delete', isToolCall: false }, { role: 'user' }, null],
    ['tool', create(true), { status: 'pending' }, 'call'],
    ['tool', create(true), { status: 'success' }, null],
    ['tool', create(false), { status: 'pending' }, null],
    ['tool', { event: 'delete', isToolCall: true }, { status: 'pending' }, null],
  ] as const)('of /%s for %j with %j is %j', (...[route, delivery, fields, work]) => {
    expect(requestedWork(route, delivery, { id: 'd', ...fields })).toBe(work);
  });
});
