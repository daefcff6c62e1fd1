import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { type Clock, GuardedFetch, Secret, systemClock } from '#platform';

import { SyntrixServer } from './server/syntrix-server.js';
import { SyntrixClient, type SyntrixTarget } from './syntrix-client.js';

const chatPath = 'users/u/orch-chats/c';

describe('SyntrixClient', () => {
  let server: SyntrixServer;
  let fetch: GuardedFetch;
  const waits: number[] = [];
  /** Timers fire at once, and their delays are recorded. */
  const clock: Clock = {
    ...systemClock,
    after: (delayMs, run) => {
      waits.push(delayMs);
      return systemClock.after(0, run);
    },
  };

  beforeEach(async () => {
    waits.length = 0;
    server = await SyntrixServer.start({ database: 'shop', tokens: ['own', 'pre'] });
    fetch = new GuardedFetch({ allowPrivate: true });
  });

  afterEach(async () => {
    await fetch.close();
    await server.close();
  });

  const clientOf = (
    target: Partial<SyntrixTarget> = {},
    signal = new AbortController().signal,
    options: { readonly timeoutMs?: number } = {},
  ) =>
    new SyntrixClient(
      {
        ...{ baseUrl: server.url, apiStyle: 'v1', database: 'shop', toolCollection: 'toolcall' },
        token: { value: new Secret('own'), preIssued: false },
        ...target,
      },
      { fetch, clock, signal, ...options },
    );
  const preIssued = { value: new Secret('pre'), preIssued: true };
  const styles: readonly (readonly [string, Partial<SyntrixTarget>, RegExp])[] = [
    ['v1', { apiStyle: 'v1' }, /^\w+ \/api\/v1\/(users|query)/],
    ['v1 with a pre-issued token', { apiStyle: 'v1', token: preIssued }, /^\w+ \/api\/v1\/(users|query)/],
    ['databases', { apiStyle: 'databases' }, /^\w+ \/api\/v1\/databases\/shop\/(documents\/users|query)/],
    [
      'databases with a pre-issued token',
      { apiStyle: 'databases', token: preIssued },
      /^POST \/trigger\/v1\/databases\/shop\/(get|query|write)$/,
    ],
  ];

  it.each(styles)('reads, creates and updates documents (%s)', async (_, target, routes) => {
    const client = clientOf(target);
    expect(await client.get(`${chatPath}/messages/m1`)).toBeNull();
    await client.postMessage(chatPath, { id: 'm1', role: 'assistant', content: 'Hi', createdAt: 1 });
    await client.postMessage(chatPath, { id: 'm1', role: 'assistant', content: 'Again', createdAt: 2 });
    await client.postToolCall(chatPath, { id: 'x', toolName: 'a', args: {}, status: 'pending', createdAt: 3 });
    await client.updateToolCall(`${chatPath}/toolcall/x`, { status: 'success', result: '1' });
    await client.updateToolCall(`${chatPath}/toolcall/x`, { status: 'failed', error: 'late' });
    expect(await client.get(`${chatPath}/messages/m1`)).toMatchObject({ id: 'm1', content: 'Hi' });
    expect(await client.fetchHistory(chatPath)).toMatchObject({
      messages: [{ id: 'm1' }],
      toolCalls: [{ id: 'x', status: 'success', result: '1' }],
    });
    expect(server.requests.filter((request) => !routes.test(request))).toEqual([]);
  });

  it.each(styles)('replaces and deletes documents, but none in an unexpected state (%s)', async (_, target, routes) => {
    const client = clientOf(target);
    const path = `${chatPath}/messages/m1`;
    server.store.put(path, { id: 'm1', role: 'user', content: 'Hi' });
    await client.write([{ type: 'replace', path, data: { content: 'Hello' } }]);
    expect(await client.get(path)).toEqual({ id: 'm1', content: 'Hello' });
    await client.write([{ type: 'replace', path, data: { content: 'Late' }, ifMatch: { content: 'Hi' } }]);
    await client.write([{ type: 'delete', path, ifMatch: { content: 'Hi' } }]);
    expect(await client.get(path)).toEqual({ id: 'm1', content: 'Hello' });
    await client.write([1, 2].map(() => ({ type: 'delete', path })));
    expect(await client.get(path)).toBeNull();
    expect(server.requests.filter((request) => !routes.test(request))).toEqual([]);
  });

  it.each(styles)('treats 404 as an absent document for reads only (%s)', async (_, target) => {
    server.intercept = () => ({ status: 404 });
    const client = clientOf(target);
    expect(await client.get('a/b')).toBeNull();
    await client.write([{ type: 'delete', path: 'a/b' }]);
    const refused = { code: 'syntrix_refused', message: expect.stringContaining('HTTP 404') };
    await expect(client.query({ collection: 'a' })).rejects.toMatchObject(refused);
    await expect(client.postMessage(chatPath, { id: 'm' })).rejects.toMatchObject(refused);
    await expect(client.write([{ type: 'update', path: 'a/b', data: {} }])).rejects.toMatchObject(refused);
    await expect(client.write([{ type: 'replace', path: 'a/b', data: {} }])).rejects.toMatchObject(refused);
  });

  it('ends with an error when a query repeats a cursor', async () => {
    let pages = 0;
    server.intercept = () => ({ status: 200, body: { documents: [], nextCursor: ['a', 'b'][pages++ % 2] } });
    await expect(clientOf().fetchHistory(chatPath)).rejects.toMatchObject({ code: 'syntrix_refused' });
    expect(pages).toBeLessThan(8);
  });

  it('ends with an error when a list has no end', async () => {
    let pages = 0;
    server.intercept = () => ({ status: 200, body: { documents: [], nextCursor: `page ${pages++}` } });
    const refused = { code: 'syntrix_refused', message: expect.stringContaining('more than 1000 pages') };
    await expect(clientOf().fetchHistory(chatPath)).rejects.toMatchObject(refused);
    expect(pages).toBeLessThanOrEqual(2_000); // of messages and of tool calls
    server.intercept = () => ({ status: 200, body: { documents: [], nextCursor: 'x'.repeat(4_097) } });
    await expect(clientOf().fetchHistory(chatPath)).rejects.toMatchObject({ code: 'syntrix_refused' });
  });

  it('keeps the newest documents of up to 16 MiB', async () => {
    const content = 'x'.repeat(6_000_000);
    let pages = 0; // of messages and of tool calls
    server.intercept = () => {
      const documents = [{ id: String(++pages), content }];
      return { status: 200, body: { documents, ...(pages < 8 ? { nextCursor: String(pages) } : {}) } };
    };
    const { messages, toolCalls } = await clientOf().fetchHistory(chatPath);
    expect([messages.length, toolCalls.length]).toEqual([2, 2]);
    const last = [messages, toolCalls].map((documents) => Number(documents.at(-1)?.id)).sort();
    expect(last).toEqual([8, 9]);
  });

  it('waits as long as Retry-After asks, in seconds or until a date, and at most 30 s', async () => {
    const values = ['7', new Date(systemClock.now() + 12_000).toUTCString(), '3600'];
    for (const value of values) {
      waits.length = 0;
      server.requests.length = 0;
      server.intercept = () =>
        server.requests.length < 2 ? { status: 429, headers: { 'retry-after': value } } : { status: 404 };
      expect(await clientOf().get('a/b')).toBeNull();
      const longest = Math.max(...waits.filter((ms) => ms !== 10_000));
      expect(longest).toBeGreaterThan(5_000);
      expect(longest).toBeLessThanOrEqual(30_000);
    }
  });

  it('treats 412 of a conditional write as success', async () => {
    server.intercept = () => ({ status: 412 });
    const client = clientOf({ apiStyle: 'databases', token: preIssued });
    await client.updateToolCall(`${chatPath}/toolcall/x`, { status: 'success', result: '1' });
    expect(server.requests).toHaveLength(1);
  });

  it('reads all pages and keeps the newest 1,000 documents', async () => {
    for (let i = 1; i <= 1_050; i++) server.store.put(`${chatPath}/messages/m${i}`, { id: `m${i}`, createdAt: i });
    const { messages } = await clientOf().fetchHistory(chatPath);
    expect(messages).toHaveLength(1_000);
    expect([messages[0]?.id, messages.at(-1)?.id]).toEqual(['m51', 'm1050']);
  });

  it.each([[[{ id: 'a' }]], [{ docs: [{ id: 'a' }] }]])('reads a query result of the shape %j', async (body) => {
    server.intercept = () => ({ status: 200, body });
    expect(await clientOf().query({ collection: 'c' })).toEqual({ documents: [{ id: 'a' }] });
  });

  it.each([408, 429, 500, 503])(
    'tries three times after %d, and then reports the database as unavailable',
    async (status) => {
      server.intercept = () => ({ status });
      await expect(clientOf().get('a/b')).rejects.toMatchObject({ code: 'syntrix_unavailable', retryable: true });
      expect(server.requests).toHaveLength(3);
      expect(waits.filter((ms) => ms === 1_000 || ms === 2_000)).toEqual([1_000, 2_000]);
    },
  );

  it('succeeds when a later attempt succeeds', async () => {
    server.store.put('a/b', { id: 'b' });
    server.intercept = () => (server.requests.length < 3 ? { status: 502 } : undefined);
    expect(await clientOf().get('a/b')).toEqual({ id: 'b' });
  });

  it.each([400, 401, 403])('does not repeat a request that is refused with %d', async (status) => {
    server.intercept = () => ({ status });
    await expect(clientOf().postMessage(chatPath, { id: 'm' })).rejects.toMatchObject({ code: 'syntrix_refused' });
    expect(server.requests).toHaveLength(1);
  });

  it('ends each call that the database does not answer in time, and tries three times', async () => {
    server.intercept = () => new Promise(() => undefined);
    const calls = jest.spyOn(fetch, 'request');
    const client = clientOf({}, undefined, { timeoutMs: 50 });
    await expect(client.get('a/b')).rejects.toMatchObject({ code: 'syntrix_unavailable', retryable: true });
    expect(calls).toHaveBeenCalledTimes(3); // a slow server may not have received each of them
  });

  it('stops when its signal aborts', async () => {
    const controller = new AbortController();
    server.intercept = () => {
      controller.abort(new Error('the job was cancelled'));
      return { status: 503 };
    };
    await expect(clientOf({}, controller.signal).get('a/b')).rejects.toThrow('the job was cancelled');
  });

  it('sends nothing to an address that is not public', async () => {
    const guarded = new GuardedFetch({ ports: [Number(new URL(server.url).port)] });
    const client = new SyntrixClient(
      { baseUrl: server.url, apiStyle: 'v1', database: 'shop', toolCollection: 'toolcall', token: null },
      { fetch: guarded, clock, signal: new AbortController().signal },
    );
    await expect(client.get('a/b')).rejects.toMatchObject({ code: 'address_refused' });
    expect(server.requests).toEqual([]);
    await guarded.close();
  });
});
