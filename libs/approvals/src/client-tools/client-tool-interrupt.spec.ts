import { describe, expect, it } from '@jest/globals';

import { type ClientCall, clientToolInterrupt } from './client-tool-interrupt.js';

const day = 86_400_000;
const call: ClientCall = {
  id: 'i1',
  toolCallId: 'c1',
  job: { workspaceId: 'w', jobId: 'j', threadId: 't', createdBy: 'u', principal: 'key:k' },
  call: { callId: 'call_1', name: 'open_file', arguments: '{"path":"a"}' },
  definition: { type: 'function', function: { name: 'open_file' } },
  deviceId: 'laptop',
  effect: 'once',
  toolTimeoutMs: 10_000,
  now: 1_000,
};

describe('the request for a client to run a call', () => {
  it('shows the tool, its arguments and its definition, and whose clients may serve it', () => {
    expect(clientToolInterrupt(call)).toMatchObject({
      kind: 'client_tool',
      toolCallId: 'c1',
      callId: 'call_1',
      requester: 'u',
      principal: 'key:k',
      deviceId: 'laptop',
      request: { tool: 'open_file', arguments: '{"path":"a"}', definition: call.definition, toolTimeoutMs: 10_000 },
    });
  });

  it('waits 24 hours when nothing else is declared', () => {
    expect(clientToolInterrupt(call)).toMatchObject({ expireAction: 'wait', expiresAt: 1_000 + day });
  });

  it.each(['skip', 'fail'] as const)('expires after its timeout with onTimeout %s', (onTimeout) => {
    const asked = clientToolInterrupt({ ...call, wait: { timeoutMs: 5_000, onTimeout } });
    expect(asked).toMatchObject({ expireAction: onTimeout, expiresAt: 6_000 });
  });

  it.each([
    [5_000, day],
    [2 * day, 2 * day],
  ])('waits beyond a timeout of %d ms, up to 24 hours', (timeoutMs, waitsMs) => {
    expect(clientToolInterrupt({ ...call, wait: { timeoutMs } }).expiresAt).toBe(1_000 + waitsMs);
  });
});
