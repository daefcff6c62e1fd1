import { randomBytes } from 'node:crypto';
import { Agent, createServer, request, request as send, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';

import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { chromiumPath, openBrowser } from '../harness/browser.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { RawSocket } from '../harness/graphql.js';

describe('limits of refused requests', () => {
  const METRICS_TOKEN = 'the token of the operators of this test';

  const wrongKey = () => `nsk_${randomBytes(6).toString('hex')}_${'x'.repeat(43)}`;

  let database: TestDatabase;
  let test: TestApi;
  let owner: TestMember;
  let token: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    test = await startTestApi(database, { takesJobs: false, env: { REFUSALS_PER_SECOND: '1', METRICS_TOKEN } });
    ({ owner } = await test.people.workspaceOf('refused'));
    token = await test.people.tokenOf('refused-owner');
  });

  afterAll(async () => {
    await test.close();
    await database.close();
  });

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
      const request = send(new URL('/api/jobs', test.url), { method: 'POST', agent, headers }, (response) => {
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

    it('gets health and readiness at once', async () => {
      await exceedRate();
      const before = await delayedCount();
      await Promise.all([test.call('GET', '/healthz'), test.call('GET', '/readyz')]);
      expect(await delayedCount()).toBe(before);
    });

    it('gets the close of a WebSocket with a wrong key later', async () => {
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

describe('allowed origins and hosts', () => {
  let database: TestDatabase;
  let test: TestApi;
  let owner: TestMember;
  let allowed: PageServer;
  let foreign: PageServer;

  beforeAll(async () => {
    [allowed, foreign] = [await servePage(), await servePage()];
    database = await createTestDatabase();
    test = await startTestApi(database, { takesJobs: false, env: { ALLOWED_ORIGINS: allowed.origin } });
    ({ owner } = await test.people.workspaceOf('origins'));
  });

  afterAll(async () => {
    await test.close();
    await database.close();
    allowed.server.close();
    foreign.server.close();
  });

  interface PageServer {
    readonly server: Server;
    readonly origin: string;
  }

  async function servePage(): Promise<PageServer> {
    const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<p>page</p>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }; // it listens on TCP
  }

  /** Calls every API from a page of `origin`: status and whether the request id can be read, or why the browser refused. */
  async function callsFrom(browser: Browser, origin: string): Promise<unknown> {
    const page = await browser.newPage();
    await page.goto(origin);
    const script = `(async ({ url, key }) => {
    const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' };
    const call = async (path, init) => {
      try {
        const reply = await fetch(url + path, { headers, ...init });
        return [reply.status, reply.headers.get('x-request-id') !== null];
      } catch (error) { return error.message; }
    };
    const socket = await new Promise((resolve) => {
      const opened = new WebSocket(url.replace('http', 'ws') + '/graphql', 'graphql-transport-ws');
      opened.onopen = () => { opened.close(); resolve('open'); };
      opened.onerror = () => resolve('refused');
    });
    return {
      rest: await call('/api/notifications', {}),
      openai: await call('/v1/models', {}),
      graphql: await call('/graphql', { method: 'POST', body: JSON.stringify({ query: '{ me { id } }' }) }),
      refused: await call('/api/jobs/none/status', {}),
      socket,
    };
  })(${JSON.stringify({ url: test.url, key: owner.key })})`;
    return page.evaluate(script);
  }

  describe('CORS for pages of other origins', () => {
    const inBrowser = chromiumPath === undefined ? it.skip : it;

    inBrowser('uses REST, /v1, GraphQL and WebSockets from an allowed origin, and nothing from another', async () => {
      const browser = await openBrowser();
      try {
        expect(await callsFrom(browser, allowed.origin)).toEqual({
          rest: [200, true],
          openai: [200, true],
          graphql: [200, true],
          refused: [404, true],
          socket: 'open',
        });
        const none = 'Failed to fetch';
        expect(await callsFrom(browser, foreign.origin)).toEqual({
          rest: none,
          openai: none,
          graphql: none,
          refused: none,
          socket: 'refused',
        });
      } finally {
        await browser.close();
      }
    });
  });

  describe('Host header check', () => {
    it.each([
      ['evil.example', '/api/notifications', 421],
      ['evil.example:4000', '/graphql', 421],
      ['evil.example', '/healthz', 200],
      ['localhost:1', '/openapi.json', 200],
      ['app.localhost', '/openapi.json', 200],
      ['127.0.0.1', '/openapi.json', 200],
      ['[::1]:4000', '/openapi.json', 200],
    ])('responds to host %s at %s with %d on loopback', async (host, path, status) => {
      const answered = await new Promise((resolve, reject) => {
        const sent = request(new URL(path, test.url), { headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        sent.once('error', reject).end();
      });
      expect(answered).toBe(status);
    });
  });
});
