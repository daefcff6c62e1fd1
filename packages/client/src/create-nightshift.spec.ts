import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { createNightshift } from './create-nightshift.js';

const started = { jobId: 'j', messageId: null, threadId: null, replayed: false, status: 'QUEUED', userErrors: [] };

afterEach(() => {
  jest.restoreAllMocks();
});

/** A client in a runtime without WebSockets, and what it has asked the server. */
function withoutSockets(options: { readonly webSocket?: null } = {}) {
  jest.spyOn(globalThis as { WebSocket?: object | undefined }, 'WebSocket', 'get').mockReturnValue(undefined);
  const fetch = jest.fn(() => Promise.resolve(Response.json({ data: { startChat: started } })));
  return { client: createNightshift({ url: 'http://server.invalid', token: 't', fetch, ...options }), fetch };
}

describe('a client without WebSockets', () => {
  it('starts nothing, and says what to do', async () => {
    const { client, fetch } = withoutSockets();
    const refusal = { code: 'no_websocket', message: expect.stringMatching(/`webSocket`.*"ws".*Node 22/) };
    await expect(client.startChat({ message: 'Hello' })).rejects.toMatchObject(refusal);
    await expect(client.startWorkflow({ workflowId: 'w', prompt: 'Hello' })).rejects.toMatchObject(refusal);
    await expect(client.retryJob('j')).rejects.toMatchObject(refusal);
    expect(fetch).not.toHaveBeenCalled();
  });

  it('starts what is not going to be followed, where it was told so', async () => {
    const { client } = withoutSockets({ webSocket: null });
    const job = await client.startChat({ message: 'Hello' });
    expect(job.id).toBe('j');
    await expect(job.events().next()).rejects.toMatchObject({ code: 'no_websocket' });
  });
});
