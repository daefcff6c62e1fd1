import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { clientAddressKeys } from '../../refusals/client-address.js';
import { UpgradeTurns } from './upgrade-turns.js';

const crowded = '127.0.0.1';
const other = '127.0.0.2';
const refused = '127.0.0.3';

describe('UpgradeTurns', () => {
  let clock: ManualClock;
  let turns: UpgradeTurns;
  let server: Server;

  beforeEach(async () => {
    clock = new ManualClock();
    turns = new UpgradeTurns(clock, clientAddressKeys([]), 2, { isCrowded: (key) => key === refused });
    server = createServer((_, response) => response.end('ok'));
    server.on('connection', (connection) => {
      turns.slowDown(connection);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const wait = (accept = () => undefined) => {
    const socket = new PassThrough();
    // Only these two properties are read.
    const request = { socket: { remoteAddress: crowded }, headers: {} } as unknown as IncomingMessage;
    return { socket, waits: turns.wait(request, socket, accept) };
  };
  const send = (localAddress: string) => {
    const request = get({
      port: (server.address() as AddressInfo).port,
      host: '127.0.0.1',
      localAddress,
      agent: false,
    });
    const response = once(request, 'response').then(() => 'response');
    response.catch(() => undefined);
    return { request, response };
  };

  it('accepts at most 25 upgrades without a slot before other work runs', () => {
    const accepted = () => Array.from({ length: 30 }, () => turns.takeNow()).filter(Boolean).length;
    expect([accepted(), accepted()]).toEqual([25, 0]);
    clock.advance(1);
    expect(accepted()).toBe(25);
  });

  it('rejects an upgrade from an address that already has half of the waiting upgrades', () => {
    expect([wait().waits, wait().waits, turns.size]).toEqual([true, false, 1]);
  });

  it('reads new connections of an address at its limit one by one, and those of others at once', async () => {
    const { socket } = wait();
    const first = send(crowded);
    await once(server, 'connection');
    expect(await send(other).response).toBe('response');
    expect(turns.unreadSize).toBe(1);
    expect(await Promise.race([first.response, send(other).response.then(() => 'none')])).toBe('none');
    clock.advance(10);
    expect(await first.response).toBe('response');
    expect(turns.unreadSize).toBe(0);
    socket.destroy();
  });

  it('reads new connections of an address with many refused requests one by one', async () => {
    const { response } = send(refused);
    await once(server, 'connection');
    expect(turns.unreadSize).toBe(1);
    clock.advance(10);
    expect(await response).toBe('response');
  });

  it('forgets an unread connection that the peer closes', async () => {
    wait();
    const { request } = send(crowded);
    const [connection] = (await once(server, 'connection')) as [PassThrough];
    request.destroy();
    connection.destroy(); // an unread connection does not notice that its peer is gone
    await once(connection, 'close');
    expect(turns.unreadSize).toBe(0);
  });
});
