import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { chromiumPath, openBrowser } from '../harness/browser.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';

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
