import type { Server } from 'node:http';
import { connect as connectTcp } from 'node:net';
import { PassThrough } from 'node:stream';

import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { getIntrospectionQuery } from 'graphql';
import pg from 'pg';

import type { MemberPrincipal } from '#auth';

import { GraphqlSocketGateway } from '../../apps/api/src/graphql/sockets/graphql-socket.gateway.js';
import { UserSockets } from '../../apps/api/src/graphql/sockets/user-sockets.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask, RawSocket } from '../harness/graphql.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { RawConnection } from '../harness/raw-http.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

describe('GraphQL limits:', () => {
  const streams = 5;

  let database: TestDatabase;
  let api: TestApi;
  let member: TestMember;
  let colleague: TestMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    const env = {
      STREAMS_PER_PRINCIPAL: String(streams),
      STREAMS_PER_JOB: String(streams),
      SOCKETS_PER_USER: String(streams),
    };
    api = await startTestApi(database, { takesJobs: false, env });
    ({ owner: member, member: colleague } = await api.people.workspaceOf('floods'));
  });

  afterAll(async () => {
    await api.close();
    await database.close();
  });

  const openSockets = () => api.api.app.get(GraphqlSocketGateway, { strict: false });

  const userSockets = () => api.api.app.get(UserSockets, { strict: false });

  /** A closed connection is released in the database, a moment after the server has seen it. */
  const areReleased = () => eventually('all connections are released', () => userSockets().size === 0 || undefined);

  /** Closes and waits until the server has seen it. */
  async function leave(...sockets: readonly RawSocket[]): Promise<void> {
    for (const socket of sockets) socket.close();
    await eventually('the sockets are gone', () => (openSockets().size === 0 ? true : undefined));
  }

  describe('GraphQL over HTTP', () => {
    it('suggests no field names in errors', async () => {
      const { errors } = await ask(api, '{ job(id: "x") { idd statuss } tol }', { key: member.key });
      expect(errors.map(({ message }) => message).join(' ')).not.toMatch(/Did you mean|status"/);
      expect(JSON.stringify(errors)).not.toMatch(/stack|node_modules/);
      const introspection = '{ __schema { types { name } } }';
      expect((await ask(api, introspection)).status).toBe(401);
      expect((await ask(api, introspection, { key: member.key })).errors).toEqual([]);
    });
  });

  describe('GraphQL over WebSocket', () => {
    it('closes 4408 without connection_init, 4401 before it, 4429 after a second, 4409 for an id in use, 4400 for an invalid message', async () => {
      const silent = await RawSocket.open(api);
      const early = await RawSocket.open(api);
      early.send({ id: '1', type: 'subscribe', payload: { query: '{ tools { name } }' } });
      expect((await early.closed).code).toBe(4401);

      const twice = await RawSocket.enter(api, member.key);
      twice.send({ type: 'connection_init' });
      expect((await twice.closed).code).toBe(4429);

      const same = await RawSocket.enter(api, member.key);
      for (let i = 0; i < 2; i += 1) {
        same.send({ id: '1', type: 'subscribe', payload: { query: 'subscription { workspaceActivity { jobId } }' } });
      }
      expect((await same.closed).code).toBe(4409);

      const deep = `{"id":"1","type":"subscribe","payload":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
      for (const nonsense of ['{"type":"drop_tables"}', '{"id":"1","type":"next","payload":{}}', deep]) {
        const socket = await RawSocket.enter(api, member.key);
        socket.send(nonsense);
        expect((await socket.closed).code).toBe(4400);
      }
      expect((await silent.closed).code).toBe(4408);
    });

    it('closes 4429 on floods of pings and of subscriptions', async () => {
      for (const message of [{ type: 'ping' }, { type: 'complete', id: 'x' }]) {
        const socket = await RawSocket.enter(api, member.key);
        for (let i = 0; i < 1_000; i += 1) socket.send(message);
        expect((await socket.closed).code).toBe(4429);
      }
      const socket = await RawSocket.enter(api, member.key);
      for (let i = 0; i < 5_000; i += 1) {
        socket.send({
          id: String(i),
          type: 'subscribe',
          payload: { query: 'subscription { workspaceActivity { jobId } }' },
        });
      }
      expect((await socket.closed).code).toBe(4429);
      await leave();
    });

    it('limits the subscriptions of a principal and releases their slots', async () => {
      const socket = await RawSocket.enter(api, member.key);
      const query = 'subscription { workspaceActivity { jobId } }';
      for (let i = 0; i <= streams; i += 1) socket.send({ id: String(i), type: 'subscribe', payload: { query } });
      expect(JSON.stringify(await socket.until(({ id }) => id === String(streams)))).toContain('RATE_LIMITED');
      socket.send({ id: '0', type: 'complete' });
      await eventually('the place is free', async () => {
        const id = `again-${socket.messages.length}-${performance.now()}`;
        socket.send({ id, type: 'subscribe', payload: { query } });
        socket.send({ id: `${id}-after`, type: 'subscribe', payload: { query: '{ tools { name } }' } });
        await socket.until((message) => message.id === `${id}-after`);
        return socket.messages.some((message) => message.id === id) ? undefined : true;
      });
      await leave(socket);
    });

    it.each(['workspaceActivity { jobId }', 'interruptActivity { id }', 'notificationActivity { id }'])(
      'reserves a slot of each member for %s, however many slots others use',
      async (field) => {
        const payload = { query: `subscription { ${field} }` };
        const [crowd, own] = [await RawSocket.enter(api, colleague.key), await RawSocket.enter(api, member.key)];
        for (let i = 0; i < streams; i += 1) crowd.send({ id: String(i), type: 'subscribe', payload });
        const last = { id: 'last', type: 'subscribe', payload: { query: '{ tools { name } }' } };
        crowd.send(last);
        await crowd.until(({ id }) => id === last.id);
        own.send({ id: 'own', type: 'subscribe', payload });
        own.send(last);
        await own.until(({ id }) => id === last.id);
        expect([...crowd.messages, ...own.messages].filter(({ id }) => id !== undefined && id !== last.id)).toEqual([]);
        await leave(crowd, own);
      },
    );

    it('closes a connection over the cap of its user and releases the others', async () => {
      const sockets = await Promise.all(Array.from({ length: streams }, () => RawSocket.enter(api, member.key)));
      const over = await RawSocket.open(api);
      over.send({ type: 'connection_init', payload: { apiKey: member.key } });
      expect((await over.closed).code).toBe(4429);
      await leave(...sockets);
      await areReleased();
      await leave(await RawSocket.enter(api, member.key));
    });

    it('releases the slot of a connection that closed before it was accepted', async () => {
      const known = Promise.withResolvers<MemberPrincipal>();
      const asked = jest.spyOn(api.auth.authenticator, 'authenticate').mockReturnValueOnce(known.promise);
      const socket = await RawSocket.open(api);
      socket.send({ type: 'connection_init', payload: { apiKey: member.key } });
      await eventually('it is asked who that is', () => (asked.mock.calls.length > 0 ? true : undefined));
      await leave(socket);
      asked.mockRestore();
      known.resolve(member.principal);
      await leave(await RawSocket.enter(api, member.key));
      await areReleased();
    });

    it('closes 1009 on a frame above 256 KB, whole or in pieces, and inflates nothing', async () => {
      const whole = await RawSocket.enter(api, member.key);
      whole.send(JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(10 * 1024 * 1024) } }));
      expect((await whole.closed).code).toBe(1009);

      const pieces = await RawSocket.enter(api, member.key);
      for (let i = 0; i < 1_000; i += 1) pieces.socket.send('x'.repeat(1_024), { fin: false });
      expect((await pieces.closed).code).toBe(1009);

      const compressed = await RawSocket.open(api);
      expect(compressed.socket.extensions).toBe('');
      await leave(compressed);
    });

    it('rejects pages of other origins and other protocols', async () => {
      const host = new URL(api.url).host;
      await expect(RawSocket.open(api, { origin: 'https://evil.example' })).rejects.toThrow('403');
      await expect(RawSocket.open(api, { origin: 'null' })).rejects.toThrow('403');
      await leave(await RawSocket.open(api, { origin: `http://${host}` }));
      await expect(RawSocket.open({ url: `${api.url}/elsewhere` })).rejects.toThrow('404');
    });

    it('survives a peer that upgrades and resets', async () => {
      const { port } = new URL(api.url);
      for (const path of ['/graphql', '/elsewhere']) {
        await new Promise<void>((resolve) => {
          const socket = connectTcp(Number(port), '127.0.0.1', () => {
            socket.write(
              `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
            );
            socket.resetAndDestroy();
          });
          socket.on('error', () => undefined);
          socket.on('close', () => {
            resolve();
          });
        });
      }
      expect((await ask(api, '{ tools { name } }', { key: member.key })).errors).toEqual([]);
      await leave();
    });
  });
});

describe('GraphQL over WebSocket', () => {
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

  it('rejects upgrades of an address that has half of the waiting ones, and forgets those that disconnect', async () => {
    const silent: RawSocket[] = [];
    for (let i = 0; i < pending; i += 1) silent.push(await RawSocket.open(api));
    const peers = Array.from({ length: pending }, () => new PassThrough());
    for (const peer of peers) {
      const headers = { ...upgrade, host: new URL(api.url).host };
      const request = { method: 'GET', url: '/graphql', headers, socket: { remoteAddress: '192.0.2.1' } };
      (api.api.app.getHttpServer() as Server).emit('upgrade', request, peer, Buffer.alloc(0));
    }
    const waiting = openSockets().turns.size;
    for (const peer of peers) peer.destroy();
    await new Promise<void>((resolve) => {
      process.nextTick(resolve);
    }); // before a turn can come
    expect([waiting, openSockets().turns.size]).toEqual([pending / 2, 0]);
    await leave(...silent);
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

describe('GraphQL responses of many MiB', () => {
  let database: TestDatabase;
  let model: ScriptedModel;
  let api: TestApi;
  let key: string;
  let newest: string;
  let results: string;
  let messages: string;

  const texts = '{ jobs(first: 10) { nodes { content rounds { text } } } }';

  beforeAll(async () => {
    database = await createTestDatabase();
    model = await ScriptedModel.start();
    api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
    key = (await api.people.workspaceOf('sizes')).owner.key;
    const user = graphqlMember(api, key);
    const started = async () => {
      model.enqueue(
        toolCallReply([{ id: 'c', name: 'calculate', arguments: '{"expression":"6*7"}' }]),
        textReply(['so']),
      );
      return user.run({ message: 'What is 6*7?', tools: ['calculate'] });
    };
    await started();
    const { jobId, threadId } = await started();
    newest = jobId ?? '';
    results = `{ job(id: "${jobId}") { toolCalls { result } } }`;
    messages = `{ messages(threadId: "${threadId ?? ''}", first: 10) { nodes { role } } }`;
  });

  afterAll(async () => {
    await api.close();
    await model.close();
    await database.close();
  });

  /** Large texts of a model, a tool and a person: together more than one response may hold. */
  async function grow(...statements: readonly string[]): Promise<void> {
    const owner = new pg.Client({ connectionString: database.urls.owner });
    await owner.connect();
    for (const sql of statements) await owner.query(sql);
    await owner.end();
  }

  const reasonsOf = async (query: string) =>
    (await ask(api, query, { key })).errors.map(({ extensions }) => extensions['reason']);

  it('reject a selection that is too large without reading its texts', async () => {
    for (const query of [texts, results, messages]) expect(await reasonsOf(query)).toEqual([]);

    await grow(
      `UPDATE round SET text = repeat('x', CASE job_id WHEN '${newest}' THEN 8000000 ELSE 60000000 END) WHERE number = 2`,
      "UPDATE tool_call SET result = repeat('x', 70000000)",
      "UPDATE message SET content = to_json(repeat('x', 70000000)) WHERE role = 'user'",
    );
    for (const query of [texts, results, messages]) expect(await reasonsOf(query)).toContain('too_large');
    expect(await reasonsOf('{ jobs(first: 10) { nodes { id status } } }')).toEqual([]);
    expect(await reasonsOf('{ jobs(first: 1) { nodes { content } } }')).toEqual([]);
  });
});
