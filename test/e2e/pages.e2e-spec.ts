import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { chromiumPath, openBrowser } from '../harness/browser.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';

let database: TestDatabase;
let api: TestApi;
let member: TestMember;
/** Web servers of the only allowed origin and of another one. */
let allowed: PageServer;
let foreign: PageServer;
/** Only with Chromium. */
let browser: Browser;
let folder: string;

beforeAll(async () => {
  [allowed, foreign] = [await servePage(), await servePage()];
  database = await createTestDatabase();
  api = await startTestApi(database, { takesJobs: false, env: { ALLOWED_ORIGINS: allowed.origin } });
  member = (await api.people.workspaceOf('explorer')).owner;
  if (chromiumPath !== undefined) browser = await openBrowser();
  folder = mkdtempSync(join(tmpdir(), 'nightshift-pages-'));
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  if (chromiumPath !== undefined) await browser.close();
  await api.close();
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

/** What Chromium sends when a person opens a page. */
const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

/** What a page asks for, and what it complains about. */
function watch(page: Page): { readonly requests: string[]; readonly complaints: string[] } {
  const seen = { requests: [] as string[], complaints: [] as string[] };
  page.on('request', (request) => seen.requests.push(request.url()));
  page.on('console', (message) => {
    if (message.type() === 'error') seen.complaints.push(message.text());
  });
  page.on('pageerror', (error) => seen.complaints.push(error.message));
  return seen;
}

describe('OpenAPI pages:', () => {
  interface Layer {
    readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
  }

  /** What the server has routes for: `get /api/jobs/{id}/status`. */
  function servedRoutes(): readonly string[] {
    const { router } = api.api.app.getHttpAdapter().getInstance() as { router: { stack: readonly Layer[] } }; // Express 5
    return router.stack.flatMap(({ route }) =>
      route === undefined
        ? []
        : Object.keys(route.methods).map((method) => `${method} ${route.path.replaceAll(/[:*](\w+)/g, '{$1}')}`),
    );
  }

  interface Document {
    readonly openapi: string;
    readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  }

  describe('OpenAPI document', () => {
    it('lists exactly the routes of the server', async () => {
      const { status, body } = await api.call('GET', '/openapi.json');
      expect(status).toBe(200);
      const { paths } = body as Document; // what is looked at below
      const described = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method} ${path}`),
      );
      // Apollo Server is not a route of Express.
      const served = [...servedRoutes(), 'get /graphql', 'post /graphql'];
      expect(served).toContain('post /v1/chat/completions');
      expect(described.toSorted()).toEqual(served.toSorted());
    });
  });

  describe('root page', () => {
    it('lists the endpoints without a credential', async () => {
      const { status, headers, body } = await api.call('GET', '/');
      expect(status).toBe(200);
      const { endpoints } = body as { endpoints: Record<string, string> }; // by the OpenAPI document
      expect(Object.keys(endpoints)).toEqual(['graphql', 'openai', 'rest', 'docs', 'openapi', 'health']);
      const page = await api.call('GET', '/docs');
      for (const name of ['x-content-type-options', 'strict-transport-security', 'cache-control'])
        expect(headers.get(name)).toBe(page.headers.get(name));
      expect(headers.get('content-security-policy')).toContain("default-src 'self'");
      expect((await api.call('GET', '/', { key: 'nsk_wrong' })).body).toEqual(body);
      for (const path of [endpoints['docs'], endpoints['openapi'], endpoints['health']])
        expect((await api.call('GET', path ?? '')).status).toBe(200);
    });

    it('GET / sends browsers a page with links that work, without scripts', async () => {
      const { status, headers, body } = await api.call('GET', '/', { headers: { accept } });
      expect([status, headers.get('content-type'), headers.get('vary')]).toEqual([
        200,
        'text/html; charset=utf-8',
        expect.stringContaining('Accept'),
      ]);
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; img/,
      );
      expect(String(body)).not.toMatch(/https?:|<script|\son\w+=/);
      expect(String(body)).toContain('.nightshift/demo-api-key');
      const links = [...String(body).matchAll(/<a href="([^"]*)"/g)].map(([, path = '']) => path);
      expect(links).toEqual(['/graphql', '/docs', '/openapi.json', '/readyz']);
      for (const path of links) expect((await api.call('GET', path, { headers: { accept } })).status).toBe(200);
    });

    it('GET /favicon.ico responds without content', async () => {
      expect((await api.call('GET', '/favicon.ico')).status).toBe(204);
    });

    (chromiumPath === undefined ? it.skip : it)(
      'GET / follows the color scheme of the browser and violates no policy',
      async () => {
        const colors = await Promise.all(
          (['light', 'dark'] as const).map(async (colorScheme) => {
            const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme });
            const { requests, complaints } = watch(page);
            await page.goto(api.url);
            await page.screenshot({ path: join(process.env['PICTURES'] ?? folder, `root-${colorScheme}.png`) });
            const color = await page.evaluate('getComputedStyle(document.body).backgroundColor');
            expect(complaints).toEqual([]);
            expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([`${api.url}/`]);
            await page.close();
            return color;
          }),
        );
        expect(colors).toEqual(['rgb(255, 255, 255)', 'rgb(22, 24, 29)']);
      },
    );
  });

  describe('GET /docs', () => {
    it('sends a policy that allows no foreign content', async () => {
      const { status, headers, body } = await api.call('GET', '/docs');
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
      expect(String(body)).not.toMatch(/https?:/);
    });

    it.each(['package.json', '..%2fpackage.json', 'swagger-ui.js.map', 'constructor'])(
      'serves no other file: %s',
      async (name) => {
        expect((await api.call('GET', `/docs/${name}`)).status).toBe(404);
      },
    );

    (chromiumPath === undefined ? describe.skip : describe)('in a browser', () => {
      it('renders the document from its own origin without a violation of its policy', async () => {
        const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
        page.setDefaultTimeout(100_000);
        const { requests, complaints } = watch(page);
        await page.goto(`${api.url}/docs`);
        await page.locator('#operations-OpenAI-createChatCompletion').waitFor();
        const summaries = await page.locator('.opblock-summary-path').allInnerTexts();
        expect(summaries.length).toBeGreaterThan(25);
        await page.locator('#operations-OpenAI-executeTool button.opblock-summary-control').click();
        await page.locator('#operations-OpenAI-executeTool').getByText('tool_call_id').first().waitFor();
        const picture = join(process.env['PICTURES'] ?? folder, 'docs.png');
        await page.screenshot({ path: picture });
        expect(statSync(picture).size).toBeGreaterThan(20_000);
        expect(complaints).toEqual([]);
        expect(requests.filter((url) => !url.startsWith(api.url) && !url.startsWith('data:'))).toEqual([]);
        await page.close();
      });
    });
  });
});

describe('GraphQL explorer', () => {
  /** Replaces the text of one of the editors. */
  async function write(page: Page, editor: 'Headers' | 'Query Editor', text: string): Promise<void> {
    const area = page.locator(`section[aria-label="${editor}"] .graphiql-editor:not(.hidden) .CodeMirror`);
    await area.click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText(text);
  }

  /** Runs a document whose operation has the name, once GraphiQL has read it: the tab then shows the name. */
  async function run(page: Page, name: string, text: string): Promise<void> {
    await write(page, 'Query Editor', text);
    await page.getByRole('tab', { name }).waitFor();
    await page.getByRole('button', { name: /Execute query/ }).click();
  }

  it('reaches browsers with a policy without inline scripts and other origins', async () => {
    const { status, headers, body } = await api.call('GET', '/graphql', { headers: { accept } });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).not.toMatch(/unsafe|https?:/);
    expect(String(body)).not.toMatch(/https?:|<script>|<style|\son\w+=/);
  });

  it('stays hidden from other clients, which need a credential', async () => {
    for (const headers of [
      {},
      { accept: 'application/json' },
      { accept: '*/*' },
      { accept: `application/json, ${accept}` },
    ])
      expect((await api.call('GET', '/graphql?query={me{id}}', { headers })).status).toBe(401);
    expect((await api.call('POST', '/graphql', { headers: { accept }, body: { query: '{ me { id } }' } })).status).toBe(
      401,
    );
  });

  it.each(['package.json', '..%2fpackage.json', 'graphiql.min.js.map', 'constructor'])(
    'serves no file %s',
    async (name) => {
      expect((await api.call('GET', `/explorer/${name}`)).status).toBe(404);
    },
  );

  it('stays disabled with GRAPHQL_EXPLORER=false', async () => {
    const closed = await startTestApi(database, { takesJobs: false, env: { GRAPHQL_EXPLORER: 'false' } });
    expect((await closed.call('GET', '/graphql', { headers: { accept } })).status).toBe(401);
    expect((await closed.call('GET', '/explorer/graphiql.js')).status).toBe(404);
    expect(String((await closed.call('GET', '/', { headers: { accept } })).body)).not.toContain('href="/graphql"');
    await closed.close();
  });

  (chromiumPath === undefined ? describe.skip : describe)('in a browser', () => {
    it('requests the schema once the headers have a key, runs a query and follows a subscription, from this origin only', async () => {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      page.setDefaultTimeout(100_000);
      const { requests, complaints } = watch(page);
      await page.goto(`${api.url}/graphql`);
      await page.locator('section[aria-label="Headers"] .graphiql-editor:not(.hidden) .CodeMirror').waitFor();
      await page.screenshot({ path: join(process.env['PICTURES'] ?? folder, 'explorer-first.png') });
      expect(requests.filter((url) => new URL(url).pathname === '/graphql')).toHaveLength(1); // the page
      await write(page, 'Headers', JSON.stringify({ authorization: `Bearer ${member.key}` }));
      await run(page, 'Workspace', 'query Workspace { workspace { name } }');
      await page.locator('.result-window .CodeMirror-code').getByText('"explorer"').waitFor();
      await page.getByRole('button', { name: /Show Documentation Explorer/ }).click();
      await page.locator('.graphiql-doc-explorer').getByText('Mutation', { exact: true }).waitFor();
      await page.screenshot({ path: join(process.env['PICTURES'] ?? folder, 'explorer.png') });
      expect(statSync(join(process.env['PICTURES'] ?? folder, 'explorer.png')).size).toBeGreaterThan(20_000);

      const isAcknowledged = Promise.withResolvers<true>();
      page.on('websocket', (socket) =>
        socket.on('framereceived', ({ payload }) => {
          if (String(payload).includes('connection_ack')) isAcknowledged.resolve(true);
        }),
      );
      await run(page, 'Activity', 'subscription Activity { workspaceActivity { jobId } }');
      await isAcknowledged.promise;
      await page.close();
      expect(requests.filter((url) => !url.startsWith(api.url) && !/^(data|blob):/.test(url))).toEqual([]);
      expect(complaints).toEqual([]);
    });
  });
});

describe('allowed origins and hosts:', () => {
  /** Calls every API from a page of `origin`: status and whether the request id can be read, or why the browser refused. */
  async function callsFrom(origin: string): Promise<unknown> {
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
  })(${JSON.stringify({ url: api.url, key: member.key })})`;
    return page.evaluate(script);
  }

  describe('CORS for pages of other origins', () => {
    const inBrowser = chromiumPath === undefined ? it.skip : it;

    inBrowser('uses REST, /v1, GraphQL and WebSockets from an allowed origin, and nothing from another', async () => {
      expect(await callsFrom(allowed.origin)).toEqual({
        rest: [200, true],
        openai: [200, true],
        graphql: [200, true],
        refused: [404, true],
        socket: 'open',
      });
      const none = 'Failed to fetch';
      expect(await callsFrom(foreign.origin)).toEqual({
        rest: none,
        openai: none,
        graphql: none,
        refused: none,
        socket: 'refused',
      });
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
        const sent = request(new URL(path, api.url), { headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        sent.once('error', reject).end();
      });
      expect(answered).toBe(status);
    });
  });
});
