import { randomBytes } from 'node:crypto';
import { Agent, request as httpRequest, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { ask, RawSocket } from '../harness/graphql.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { RawConnection } from '../harness/raw-http.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database.close());

describe('limits of refused requests:', () => {
  const METRICS_TOKEN = 'the token of the operators of this test';

  const wrongKey = () => `nsk_${randomBytes(6).toString('hex')}_${'x'.repeat(43)}`;

  let test: TestApi;
  let owner: TestMember;
  let token: string;

  beforeAll(async () => {
    test = await startTestApi(database, { takesJobs: false, env: { REFUSALS_PER_SECOND: '1', METRICS_TOKEN } });
    ({ owner } = await test.people.workspaceOf('refused'));
    token = await test.people.tokenOf('refused-owner');
  });

  afterAll(() => test.close());

  async function delayedCount(): Promise<number> {
    const { body } = await test.call('GET', '/metrics', { key: METRICS_TOKEN });
    return Number(/^nightshift_refusals_delayed_total\{outcome="delayed"\} (\d+)$/m.exec(String(body))?.[1] ?? 0);
  }

  /** Sends two requests that are refused, so that the next one is beyond the rate. */
  async function exceedRate(): Promise<void> {
    await Promise.all([test.call('GET', '/nowhere'), test.call('GET', '/nowhere')]);
  }

  const query = { query: '{ me { user { id } } }' };

  /** A request whose body arrives after its response. */
  function post(agent: Agent): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json', 'Content-Length': '2' };
      const request = httpRequest(new URL('/api/jobs', test.url), { method: 'POST', agent, headers }, (response) => {
        const { statusCode = 0 } = response;
        response.resume().once('end', () => {
          request.once('close', () => {
            resolve(statusCode);
          });
          request.end('{}');
        });
      });
      request.once('error', reject);
      request.flushHeaders();
    });
  }

  describe('REFUSALS_PER_SECOND for an address', () => {
    it('delays error responses of every API, without and with a wrong key', async () => {
      const before = await delayedCount();
      const routes = [
        ['POST', '/api/jobs', 401],
        ['POST', '/v1/chat/completions', 401],
        ['POST', '/graphql', 401],
        ['GET', '/graphql', 401],
        ['GET', '/nowhere', 404],
        ['GET', '/metrics', 404],
      ] as const;
      const calls = routes.flatMap(([method, path]) =>
        [undefined, wrongKey()].map((key) =>
          test.call(method, path, {
            ...(key === undefined ? {} : { key }),
            ...(method === 'POST' ? { body: {} } : {}),
          }),
        ),
      );
      const statuses = (await Promise.all(calls)).map(({ status }) => status);
      expect(statuses).toEqual(routes.flatMap(([, , status]) => [status, status]));
      // On a slow machine the requests arrive over more than a second.
      expect((await delayedCount()) - before).toBeGreaterThan(calls.length / 2);
    });

    it('delays no response to a valid credential', async () => {
      await exceedRate();
      const before = await delayedCount();
      const routes = [
        { method: 'GET', path: `/api/jobs/${newId()}/status`, status: 404 },
        { method: 'GET', path: '/nowhere', status: 404 },
        { method: 'GET', path: '/graphql', status: 400 },
        { method: 'POST', path: '/graphql', body: query, status: 200 },
        { method: 'POST', path: '/graphql', body: {}, status: 400 },
        { method: 'POST', path: '/api/jobs', body: {}, status: 400 },
        { method: 'POST', path: '/v1/chat/completions', body: {}, status: 400 },
      ];
      for (const key of [owner.key, token]) {
        for (const { method, path, body, status } of routes) {
          if (key === token && path.startsWith('/v1')) continue;
          expect([path, (await test.call(method, path, { key, body })).status]).toEqual([path, status]);
        }
      }
      expect(await delayedCount()).toBe(before);
    });

    it('does not delay health and readiness', async () => {
      await exceedRate();
      const before = await delayedCount();
      await Promise.all([test.call('GET', '/healthz'), test.call('GET', '/readyz')]);
      expect(await delayedCount()).toBe(before);
    });

    it('delays the close of a WebSocket with a wrong key', async () => {
      const before = await delayedCount();
      const sockets = await Promise.all([RawSocket.open(test), RawSocket.open(test), RawSocket.open(test)]);
      for (const socket of sockets) socket.send({ type: 'connection_init', payload: { apiKey: wrongKey() } });
      const codes = await Promise.all(sockets.map(async ({ closed }) => (await closed).code));
      expect(codes).toEqual([4401, 4401, 4401]);
      expect((await delayedCount()) - before).toBeGreaterThanOrEqual(1);
    });
  });

  it('the API keeps nothing of a refused request on its connection', async () => {
    const sockets: Socket[] = [];
    const server = test.api.app.getHttpServer() as Server; // Nest types it as any
    server.on('connection', (socket: Socket) => sockets.push(socket));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const counts: number[] = [];
    for (let i = 0; i < 4; i++) {
      expect(await post(agent)).toBe(401);
      counts.push(sockets[0]?.listenerCount('close') ?? 0);
    }
    agent.destroy();
    expect(sockets).toHaveLength(1);
    expect(counts.at(-1)).toBe(counts[0]);
  });
});

describe('request bodies:', () => {
  let test: TestApi;
  let owner: TestMember;

  beforeAll(async () => {
    test = await startTestApi(database, { takesJobs: false, env: { BODY_TIMEOUT_MS: '2000' } });
    ({ owner } = await test.people.workspaceOf('bodies'));
  });

  afterAll(() => test.close());

  const json = { 'Content-Type': 'application/json' };

  const bearer = () => ({ Authorization: `Bearer ${owner.key}` });

  const paths = ['/api/jobs', '/v1/chat/completions', '/graphql'];

  /** Side by side: the server takes seconds to close such a connection. */
  const onEachPath = (check: (path: string) => Promise<void>) => Promise.all(paths.map(check));

  /** Every path of the API reference that takes a body, with ids filled in. */
  async function pathsWithBodies(): Promise<{ method: string; path: string }[]> {
    const { body } = await test.call('GET', '/openapi.json');
    const { paths: routes } = body as { paths: Record<string, Record<string, { requestBody?: unknown }>> };
    return Object.entries(routes).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { requestBody }]) => requestBody !== undefined)
        .map(([method]) => ({
          method: method.toUpperCase(),
          path: path.replaceAll(/\{[^}]+\}/g, '01890000-0000-7000-8000-000000000000'),
        })),
    );
  }

  function chunkOf(bytes: number): Buffer {
    return Buffer.from(`${bytes.toString(16)}\r\n${'1'.repeat(bytes)}\r\n`);
  }

  describe('request without a valid credential', () => {
    it('gets a rejection on every path before a byte of its body arrives', async () => {
      const routes = await pathsWithBodies();
      expect(routes.length).toBeGreaterThan(10);
      for (const { method, path } of routes) {
        const headers = { ...json, 'Content-Encoding': 'gzip', 'Content-Length': '1000000' };
        for (const credential of [{}, { Authorization: 'Bearer nsk_unknown' }]) {
          const connection = RawConnection.send(test.url, { method, path, headers: { ...headers, ...credential } });
          expect([path, await connection.status()]).toEqual([path, 401]);
          connection.close();
        }
      }
    });

    it('gets a response that a Node client can read before its body is sent', async () => {
      const body = JSON.stringify({ x: 'a'.repeat(4_000_000) });
      for (const path of paths) {
        const reply = await fetch(new URL(path, test.url), { method: 'POST', headers: json, body });
        expect([path, reply.status]).toEqual([path, 401]);
      }
    });

    it('loses a body without an end on every API', async () => {
      await onEachPath(async (path) => {
        const connection = RawConnection.send(test.url, { path, headers: { ...json, 'Transfer-Encoding': 'chunked' } });
        const written = await connection.writeUntilClosed(chunkOf(65_536));
        expect([path, await connection.status()]).toEqual([path, 401]);
        expect(written).toBeLessThan(16 * 1_048_576);
      });
    });
  });

  describe('request body', () => {
    it.each(paths)('never gets inflated by %s', async (path) => {
      const body = gzipSync('{"messages":[]}');
      const headers = { ...json, ...bearer(), 'Content-Encoding': 'gzip' };
      const reply = await fetch(new URL(path, test.url), { method: 'POST', headers, body });
      expect([reply.status, await reply.text()]).toEqual([
        415,
        expect.stringContaining('Unsupported encoding of the request body'),
      ]);
    });

    it.each(paths)('fails in another charset at %s', async (path) => {
      const headers = { ...bearer(), 'Content-Type': 'application/json; charset=utf-16le' };
      const body = Buffer.from('{"messages":[]}', 'utf16le');
      const reply = await fetch(new URL(path, test.url), { method: 'POST', headers, body });
      expect(reply.status).toBe(415);
    });

    it('stops at the limit on every API, and the client reads the reason', async () => {
      await onEachPath(async (path) => {
        const headers = { ...json, ...bearer(), 'Transfer-Encoding': 'chunked' };
        const connection = RawConnection.send(test.url, { path, headers });
        const written = await connection.writeUntilClosed(chunkOf(65_536));
        expect([path, await connection.status()]).toEqual([path, 413]);
        expect(connection.received).toContain('Request body exceeds 4194304 bytes');
        expect(written).toBeLessThan(40 * 1_048_576);
      });
    });

    it('respects the limit of its route when sent in chunks', async () => {
      const path = '/api/jobs/01890000-0000-7000-8000-000000000000/client-tool/claim';
      const headers = { ...json, ...bearer(), 'Transfer-Encoding': 'chunked' };
      const connection = RawConnection.send(test.url, { path, headers });
      connection.write(chunkOf(5_000));
      expect(await connection.status()).toBe(413);
      expect(connection.received).toContain('Request body exceeds 4096 bytes');
      connection.close();
    });

    it.each(paths)(
      'fails at %s before it is complete when it is nested too deep or has too many tokens',
      async (path) => {
        for (const [body, why] of [
          [Buffer.from('['.repeat(101)), 'is nested deeper than 100 levels'],
          [Buffer.from(`[${'{},'.repeat(50_000)}`), 'has more than 100000 JSON tokens'],
        ] as const) {
          const headers = { ...json, ...bearer(), 'Content-Length': '4000000' };
          const connection = RawConnection.send(test.url, { path, headers });
          connection.write(body);
          expect([path, await connection.status()]).toEqual([path, 413]);
          expect(connection.received).toContain(`Request body ${why}`);
          connection.close();
        }
      },
    );

    it('fails on every API when it does not arrive in time', async () => {
      await onEachPath(async (path) => {
        const headers = { ...json, ...bearer(), 'Content-Length': '10' };
        const connection = RawConnection.send(test.url, { path, headers });
        connection.write('{');
        expect([path, await connection.status()]).toEqual([path, 408]);
        expect(connection.received).toContain('The request body took too long to arrive');
        await connection.closed();
      });
    });
  });

  describe('request body over the limit', () => {
    const text = 'a'.repeat(30 * 1_048_576);

    it('gets a response that fetch can read', async () => {
      for (const path of paths) {
        const init = { method: 'POST', headers: { ...json, ...bearer() }, body: JSON.stringify({ text }) };
        const reply = await fetch(new URL(path, test.url), init);
        expect([path, reply.status, await reply.text()]).toEqual([
          path,
          413,
          expect.stringContaining('Request body exceeds 4194304 bytes'),
        ]);
      }
    });

    it('gets a response that http.request can read', async () => {
      const status = await new Promise((resolve, reject) => {
        const sent = httpRequest(new URL('/api/jobs', test.url), { method: 'POST', headers: { ...json, ...bearer() } });
        sent.once('response', (response) => {
          response.resume().once('end', () => {
            resolve(response.statusCode);
            sent.destroy();
          });
        });
        sent.on('error', reject);
        sent.end(JSON.stringify({ text }));
      });
      expect(status).toBe(413);
    });

    it('gets an error that the OpenAI SDK can read', async () => {
      const client = new OpenAI({ baseURL: `${test.url}/v1`, apiKey: owner.key, maxRetries: 0 });
      const asked = client.chat.completions.create({ model: 'x', messages: [{ role: 'user', content: text }] });
      await expect(asked).rejects.toMatchObject({ status: 413, code: 'request_too_large' });
    });

    it('keeps the connection usable when the rest of the body is small', async () => {
      const headers = { ...json, ...bearer(), 'Content-Length': String(5 * 1_048_576) };
      const connection = RawConnection.send(test.url, { path: '/api/jobs', headers });
      expect(await connection.status()).toBe(413);
      connection.write(Buffer.alloc(5 * 1_048_576, ' '));
      connection.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
      await connection.closed();
      expect(connection.received).toContain('{"status":"ok"}');
    });
  });

  describe('texts that Postgres cannot store', () => {
    let key: string;
    let jobId: string;

    beforeAll(async () => {
      ({ key } = (await test.people.workspaceOf('unstorable')).owner);
      const started = await graphqlMember(test, key).start({ message: 'Hello' });
      jobId = started.jobId ?? '';
    });

    // NUL is what no text of Postgres holds, half a pair what its JSON does not.
    describe.each(['a\0b', 'a\ud800b'])('text that Postgres cannot store: %j', (text) => {
      it.each<[string, object]>([
        [
          'mutation($i: ClaimClientToolInput!) { claimClientTool(input: $i) { userErrors { code } } }',
          { deviceId: 'd' },
        ],
        ['mutation($i: ValidateClientToolInput!) { validateClientTool(input: $i) { userErrors { code } } }', {}],
        [
          'mutation($i: SubmitClientToolResultInput!) { submitClientToolResult(input: $i) { userErrors { code } } }',
          {},
        ],
      ])('matches no call: %s', async (query, more) => {
        const i = { jobId, callId: text, ...more, ...('deviceId' in more ? {} : { claimToken: newId() }) };
        const input = query.includes('submit') ? { ...i, result: 'so' } : i;
        expect((await ask(test, query, { key, variables: { i: input } })).errors).toEqual([]);
      });

      it.each(['tool', 'approver'])('matches no call by its %s', async (field) => {
        const filter = { [field]: text };
        const list = 'query($filter: ToolCallFilterInput) { toolCalls(filter: $filter) { nodes { id } } }';
        const stats = 'query($filter: ToolCallFilterInput) { toolCallStats(filter: $filter) { __typename } }';
        for (const query of [list, stats])
          expect((await ask(test, query, { key, variables: { filter } })).errors).toEqual([]);
      });

      it.each(['code', 'phase', 'text'])('matches no failure by its %s', async (field) => {
        const variables = { filter: { error: { [field]: text } } };
        const query = 'query($filter: ToolCallFilterInput) { toolCalls(filter: $filter) { nodes { id } } }';
        expect((await ask(test, query, { key, variables })).errors).toEqual([]);
      });

      it('matches no request and no request id', async () => {
        const variables = { filter: { tool: { eq: text } } };
        const query = 'query($filter: InterruptFilterInput) { interrupts(filter: $filter) { nodes { id } } }';
        expect((await ask(test, query, { key, variables })).errors).toEqual([]);
        const body = { requestId: text, jobId, action: 'approve' };
        expect((await test.call('POST', '/api/workflows/hitl', { key, body })).status).toBe(404);
      });
    });
  });
});
