import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { chromiumPath, openBrowser } from '../harness/browser.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';

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

describe('GraphQL explorer', () => {
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

      const opened = page.waitForEvent('websocket');
      await run(page, 'Activity', 'subscription Activity { workspaceActivity { jobId } }');
      const socket = await opened;
      await socket.waitForEvent('framereceived', ({ payload }) => String(payload).includes('connection_ack'));
      await page.close();
      expect(requests.filter((url) => !url.startsWith(api.url) && !/^(data|blob):/.test(url))).toEqual([]);
      expect(complaints).toEqual([]);
    });
  });
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
