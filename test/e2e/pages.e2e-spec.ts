import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { chromiumPath, openBrowser } from '../harness/browser.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';

describe('OpenAPI pages', () => {
  let database: TestDatabase;
  let test: TestApi;

  beforeAll(async () => {
    database = await createTestDatabase();
    test = await startTestApi(database, { takesJobs: false });
  });

  afterAll(async () => {
    await test.close();
    await database.close();
  });

  interface Layer {
    readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
  }

  /** What the server has routes for: `get /api/jobs/{id}/status`. */
  function servedRoutes(): readonly string[] {
    const { router } = test.api.app.getHttpAdapter().getInstance() as { router: { stack: readonly Layer[] } }; // Express 5
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
      const { status, body } = await test.call('GET', '/openapi.json');
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
    it('GET / lists the endpoints without a credential', async () => {
      const { status, headers, body } = await test.call('GET', '/');
      expect(status).toBe(200);
      const { endpoints } = body as { endpoints: Record<string, string> }; // by the OpenAPI document
      expect(Object.keys(endpoints)).toEqual(['graphql', 'openai', 'rest', 'docs', 'openapi', 'health']);
      const page = await test.call('GET', '/docs');
      for (const name of ['x-content-type-options', 'strict-transport-security', 'cache-control'])
        expect(headers.get(name)).toBe(page.headers.get(name));
      expect(headers.get('content-security-policy')).toContain("default-src 'self'");
      expect((await test.call('GET', '/', { key: 'nsk_wrong' })).body).toEqual(body);
      for (const path of [endpoints['docs'], endpoints['openapi'], endpoints['health']])
        expect((await test.call('GET', path ?? '')).status).toBe(200);
    });
  });

  describe('GET /docs', () => {
    it('sends a policy that allows no foreign content', async () => {
      const { status, headers, body } = await test.call('GET', '/docs');
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
      expect(String(body)).not.toMatch(/https?:/);
    });

    it.each(['package.json', '..%2fpackage.json', 'swagger-ui.js.map', 'constructor'])(
      'serves no other file: %s',
      async (name) => {
        expect((await test.call('GET', `/docs/${name}`)).status).toBe(404);
      },
    );

    // Without a browser there is nothing to see.
    (chromiumPath === undefined ? describe.skip : describe)('in a browser', () => {
      let browser: Browser;
      let folder: string;

      beforeAll(async () => {
        browser = await openBrowser();
        folder = mkdtempSync(join(tmpdir(), 'nightshift-page-'));
      });
      afterAll(async () => {
        await browser.close();
        rmSync(folder, { recursive: true, force: true });
      });

      it('renders the document from its own origin without a violation of its policy', async () => {
        const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
        page.setDefaultTimeout(100_000);
        const asked: string[] = [];
        const complaints: string[] = [];
        page.on('request', (request) => asked.push(request.url()));
        page.on('console', (message) => {
          if (message.type() === 'error') complaints.push(message.text());
        });
        page.on('pageerror', (error) => complaints.push(error.message));
        await page.goto(`${test.url}/docs`);
        await page.locator('#operations-OpenAI-createChatCompletion').waitFor();
        const summaries = await page.locator('.opblock-summary-path').allInnerTexts();
        expect(summaries.length).toBeGreaterThan(25);
        await page.locator('#operations-OpenAI-executeTool button.opblock-summary-control').click();
        await page.locator('#operations-OpenAI-executeTool').getByText('tool_call_id').first().waitFor();
        const picture = join(process.env['PICTURES'] ?? folder, 'docs.png');
        await page.screenshot({ path: picture });
        expect(statSync(picture).size).toBeGreaterThan(20_000);
        expect(complaints).toEqual([]);
        expect(asked.filter((url) => !url.startsWith(test.url) && !url.startsWith('data:'))).toEqual([]);
        await page.close();
      });
    });
  });
});

describe('GraphQL explorer', () => {
  /** What Chromium sends when a person opens a page. */
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

  let database: TestDatabase;
  let api: TestApi;
  let member: TestMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    api = await startTestApi(database, { takesJobs: false });
    member = (await api.people.workspaceOf('explorer')).owner;
  });

  afterAll(async () => {
    await api.close();
    await database.close();
  });

  /** What a page asks for, and what it complains about; the schema request before the credential is set is refused. */
  function watch(page: Page): { readonly requests: string[]; readonly complaints: string[] } {
    const seen = { requests: [] as string[], complaints: [] as string[] };
    page.on('request', (request) => seen.requests.push(request.url()));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('401 (Unauthorized)'))
        seen.complaints.push(message.text());
    });
    page.on('pageerror', (error) => seen.complaints.push(error.message));
    return seen;
  }

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
    await closed.close();
  });

  // Without a browser there is nothing to see.
  (chromiumPath === undefined ? describe.skip : describe)('in a browser', () => {
    let browser: Browser;
    let folder: string;

    beforeAll(async () => {
      browser = await openBrowser();
      folder = mkdtempSync(join(tmpdir(), 'nightshift-explorer-'));
    });
    afterAll(async () => {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    });

    it('runs a query, reads the schema and follows a subscription, from this origin only', async () => {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      page.setDefaultTimeout(100_000);
      const { requests, complaints } = watch(page);
      await page.goto(`${api.url}/graphql`);
      await write(page, 'Headers', JSON.stringify({ authorization: `Bearer ${member.key}` }));
      await run(page, 'Workspace', 'query Workspace { workspace { name } }');
      await page.locator('.result-window .CodeMirror-code').getByText('"explorer"').waitFor();
      await page.getByRole('button', { name: /Re-fetch GraphQL schema/ }).click();
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
