import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { getIntrospectionQuery } from 'graphql';

import { GraphqlSocketGateway } from '../../apps/api/src/graphql/sockets/graphql-socket.gateway.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { RawSocket } from '../harness/graphql.js';
import { RawConnection } from '../harness/raw-http.js';

const pending = 8;

let database: TestDatabase;
let api: TestApi;
let member: TestMember;

beforeAll(async () => {
  database = await createTestDatabase();
  const env = {
    SOCKETS_PENDING: String(pending),
    SLOW_VIEWER_BYTES: '65536',
    SLOW_VIEWER_MS: '300',
    STREAMS_PER_PRINCIPAL: '25',
  };
  api = await startTestApi(database, { takesJobs: false, env });
  ({ member } = await api.people.workspaceOf('sockets'));
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await api.close();
  await database.close();
});

const openSockets = () => api.api.app.get(GraphqlSocketGateway, { strict: false });

/** Closes and waits until the server has seen it. */
async function leave(...sockets: readonly RawSocket[]): Promise<void> {
  for (const socket of sockets) socket.close();
  await eventually('the sockets are gone', () => (openSockets().size === 0 ? true : undefined));
}

const upgrade = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  'Sec-WebSocket-Protocol': 'graphql-transport-ws',
};

describe('GraphQL over WebSocket', () => {
  it('closes 4429 on floods of control frames', async () => {
    for (const kind of ['ping', 'pong'] as const) {
      const socket = await RawSocket.enter(api, member.key);
      for (let i = 0; i < 1_000; i += 1) socket.socket[kind]('x'.repeat(125));
      expect((await socket.closed).code).toBe(4429);
    }
  });

  it('answers a ping with its data', async () => {
    const socket = await RawSocket.enter(api, member.key);
    const data = new Promise((resolve) => socket.socket.once('pong', resolve));
    socket.socket.ping('are you there');
    expect(String(await data)).toBe('are you there');
    await leave(socket);
  });

  it('rejects an operation with a long id', async () => {
    const socket = await RawSocket.enter(api, member.key);
    const id = 'x'.repeat(129);
    socket.send({ id, type: 'subscribe', payload: { query: '{ tools { name } }' } });
    expect(JSON.stringify(await socket.until((message) => message.id === id))).toContain('longer than 128 characters');
    await leave(socket);
  });

  it('keeps only the latest connections without connection_init up to a limit', async () => {
    const silent: RawSocket[] = [];
    for (let i = 0; i <= pending; i += 1) silent.push(await RawSocket.open(api));
    expect((await silent[0]?.closed)?.code).toBe(1006);
    const entered = await RawSocket.enter(api, member.key);
    expect(openSockets().pendingSize).toBeLessThan(pending);
    await leave(entered, ...silent);
    expect(openSockets().pendingSize).toBe(0);
  });

  it('disconnects a peer that sends more than 32 KB before connection_init is accepted', async () => {
    const socket = await RawSocket.open(api);
    socket.send({ type: 'connection_init', payload: { authorization: 'x'.repeat(40_000) } });
    expect((await socket.closed).code).toBe(1006);
  });

  it('disconnects a peer without connection_init that ignores the close frame', async () => {
    const peer = RawConnection.send(api.url, { method: 'GET', path: '/graphql', headers: upgrade });
    expect(await peer.status()).toBe(101);
    await peer.closed();
    expect(peer.received).toContain('Connection initialisation timeout');
    await leave();
  });

  it('closes the connection of a refused upgrade without waiting for the peer', async () => {
    const peer = RawConnection.send(api.url, { method: 'GET', path: '/elsewhere', headers: upgrade });
    await peer.closed();
    expect(peer.received).toContain('404 Not Found');
  });

  it('disconnects a client that requests results and does not read them', async () => {
    // A peer that answers no ping is dropped as well, much later.
    jest.spyOn(openSockets(), 'dropSilent').mockReturnValue(undefined);
    const socket = await RawSocket.enter(api, member.key);
    socket.socket.pause();
    const payload = { query: getIntrospectionQuery() };
    for (let i = 0; i < 90; i += 1) socket.send({ id: String(i), type: 'subscribe', payload });
    await eventually('the client is disconnected', () => (openSockets().size === 0 ? true : undefined));
    socket.socket.terminate();
  });
});
