import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';

import { startTestApi, type TestApi } from '../harness/api.js';
import { chromiumPath, openBrowser } from '../harness/browser.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';

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
