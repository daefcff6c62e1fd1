import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { createNightshift } from './create-nightshift.js';

const started = { jobId: 'j', messageId: null, threadId: null, replayed: false, status: 'QUEUED', userErrors: [] };

const { WebSocket } = globalThis;

afterEach(() => {
  globalThis.WebSocket = WebSocket;
});

/** A client in a runtime without WebSockets, and what it has asked the server. */
function withoutSockets(options: { readonly webSocket?: null } = {}) {
  Reflect.set(globalThis, 'WebSocket', undefined);
  const fetch = jest.fn(() => Promise.resolve(Response.json({ data: { startChat: started } })));
  return { client: createNightshift({ url: 'http://server.invalid', token: 't', fetch, ...options }), fetch };
}

it('createNightshift names an unreachable server without the secrets of its address', async () => {
  const fetch = () => Promise.reject(new TypeError('fetch failed'));
  const reconnect = { firstDelayMs: 1, maxDelayMs: 1, attempts: 1 };
  const client = createNightshift({
    url: 'http://me:secret@server.invalid/base',
    token: 't',
    fetch,
    reconnect,
    webSocket: null,
  });
  await expect(client.job('j').status()).rejects.toMatchObject({
    code: 'connection_lost',
    message: 'The server at http://server.invalid/base/graphql could not be reached',
  });
});

describe('createNightshift without WebSockets', () => {
  it('rejects every start, and reports what to do', async () => {
    const { client, fetch } = withoutSockets();
    const refusal = { code: 'no_websocket', message: expect.stringMatching(/`webSocket`.*"ws".*Node 22/) };
    await expect(client.startChat({ message: 'Hello' })).rejects.toMatchObject(refusal);
    await expect(client.startWorkflow({ workflowId: 'w', prompt: 'Hello' })).rejects.toMatchObject(refusal);
    await expect(client.retryJob('j')).rejects.toMatchObject(refusal);
    expect(fetch).not.toHaveBeenCalled();
  });

  it('starts a job that it cannot follow when webSocket is null', async () => {
    const { client } = withoutSockets({ webSocket: null });
    const job = await client.startChat({ message: 'Hello' });
    expect(job.id).toBe('j');
    await expect(job.events().next()).rejects.toMatchObject({ code: 'no_websocket' });
  });
});
