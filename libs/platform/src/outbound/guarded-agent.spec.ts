import type { lookup as systemLookup } from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createGuardedAgent, type GuardedAgentOptions, inRanges, isPublicAddress } from './guarded-agent.js';

/** A resolver that answers from a list, one entry per question; a repeated last one. */
function answering(...answers: readonly (readonly string[])[]): {
  readonly lookup: typeof systemLookup;
  asked: number;
} {
  const resolver = {
    asked: 0,
    lookup: ((
      _host: string,
      _options: object,
      done: (error: null, found: { address: string; family: number }[]) => void,
    ) => {
      const addresses = answers[Math.min(resolver.asked++, answers.length - 1)] ?? [];
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    }) as unknown as typeof systemLookup, // only the overload that the agent uses
  };
  return resolver;
}

describe('createGuardedAgent', () => {
  let listener: Server;
  const sockets = new Set<Socket>();
  let connections: number;
  let port: number;

  beforeEach(async () => {
    connections = 0;
    listener = createServer((socket) => {
      connections++;
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi');
    });
    listener.listen(0, '::');
    await once(listener, 'listening');
    port = (listener.address() as AddressInfo).port; // it listens on TCP
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    listener.close();
    await once(listener, 'close');
  });

  async function get(host: string, options: GuardedAgentOptions = {}): Promise<unknown> {
    const agent = createGuardedAgent(options);
    try {
      const { statusCode, body } = await agent.request({ origin: `http://${host}:${port}`, path: '/', method: 'GET' });
      await body.dump();
      return statusCode;
    } finally {
      await agent.destroy();
    }
  }

  it.each([
    '127.0.0.1', '2130706433', '0x7f000001', '0x7f.1', '127.1', '0177.0.0.1', '0', '0.0.0.0', '①②⑦.⓪.⓪.①', '127。0。0。1',
    '[::1]', '[::]', '[::ffff:7f00:1]', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fe80::1]', '[fd00::1]',
    'localhost', 'LOCALHOST', '10.0.0.1', '172.16.0.1', '192.168.0.1', '169.254.169.254', '100.64.0.1', '224.0.0.1', '255.255.255.255',
  ])('opens no connection for http://%s', async (host) => {
    await expect(get(host)).rejects.toMatchObject({ code: 'address_refused' });
    expect(connections).toBe(0);
  }); // prettier-ignore

  it('opens no connection to http://localhost. (which not every system resolves)', async () => {
    await expect(get('localhost.')).rejects.toThrow();
    expect(connections).toBe(0);
  });

  it('refuses a name as soon as one of its addresses is not public', async () => {
    const { lookup } = answering(['93.184.215.14', '127.0.0.1']);
    await expect(get('mixed.test', { lookup })).rejects.toMatchObject({ code: 'address_refused' });
    expect(connections).toBe(0);
  });

  it('resolves a host once per connection and connects to the checked address', async () => {
    const resolver = answering(['127.0.0.1'], ['10.0.0.1']);
    expect(await get('once.test', { lookup: resolver.lookup, allowPrivate: true })).toBe(200);
    expect(resolver.asked).toBe(1);
    expect(connections).toBe(1);
  });

  it('refuses a name without addresses', async () => {
    await expect(get('none.test', { lookup: answering([]).lookup })).rejects.toMatchObject({ code: 'address_refused' });
  });

  it('connects to loopback when private addresses are allowed', async () => {
    expect(await get('127.0.0.1', { allowPrivate: true })).toBe(200);
    expect(await get('localhost', { allowPrivate: true })).toBe(200);
  });

  it('treats ordinary addresses as public', () => {
    expect(['93.184.215.14', '8.8.8.8', '2606:4700:4700::1111', '::ffff:8.8.8.8'].map(isPublicAddress)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(['', 'x', '999.1.1.1'].map(isPublicAddress)).toEqual([false, false, false]);
  });

  it('checks the IPv4 address in a NAT64 or 6to4 address', () => {
    expect(['64:ff9b::808:808', '2002:808:808::1'].map(isPublicAddress)).toEqual([true, true]);
    expect(['64:ff9b::a00:1', '2002:a9fe:a9fe::1', '64:ff9b:1::808:808'].map(isPublicAddress)).toEqual([
      false,
      false,
      false,
    ]);
    const isAllowed = inRanges(['10.0.0.0/8']);
    expect(['64:ff9b::a00:1', '2002:a00:1::', '64:ff9b::808:808'].map(isAllowed)).toEqual([true, true, false]);
  });
});
