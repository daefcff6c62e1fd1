import { afterEach, describe, expect, it } from '@jest/globals';

import { AppError, Config, Secret, systemClock } from '#platform';
import { executeToolCall, type Tool } from '#tools';

import { leading, OutboundFixture } from '../../../../test/harness/outbound-fixture.js';
import type { WorkspaceSecrets } from '../secrets/workspace-secrets.service.js';
import { coingeckoPriceTool } from './coingecko-price.tool.js';
import { fetchUrlTool } from './fetch-url.tool.js';
import { searchBackend } from './search-backends.js';
import { tavilySearchTool } from './tavily-search.tool.js';
import { webSearchTool } from './web-search.tool.js';

const given = new OutboundFixture();
let hosts: string[] = [];
afterEach(() => {
  hosts = [];
});
const hostsOf = { of: () => Promise.resolve(hosts) };

async function call(tool: Tool, args: object): Promise<string> {
  const ids = {
    workspaceId: 'w',
    jobId: 'j',
    threadId: null,
    principal: 'system',
    callId: 'c',
    idempotencyKey: 'k',
    epoch: 1,
  };
  const rest = { signal: new AbortController().signal, now: () => 0, progress: () => undefined };
  const run = { tool, arguments: JSON.stringify(args), context: { ...ids, ...rest } };
  return (await executeToolCall({ ...run, defaultTimeoutMs: 10_000, clock: systemClock })).modelText;
}

const json = (value: unknown, status = 200) => {
  given.answering(status, { 'content-type': 'application/json' }, JSON.stringify(value));
};
const open = () => given.client({ allowPrivate: true, lookup: leading(['127.0.0.1']) });

describe('fetch_url', () => {
  const page = (args: object) => call(fetchUrlTool(open(), hostsOf), args);

  it('returns a page as text', async () => {
    given.answering(
      200,
      { 'content-type': 'text/html; charset=iso-8859-1' },
      Buffer.from('<title>T</title><p>gr\xfc\xdfe <a href="/x">l</a>', 'latin1'),
    );
    expect(await page({ url: `${given.target.url}/a` })).toBe(
      `URL: ${given.target.url}/a\nTitle: T\n\ngrüße [l](${given.target.url}/x)`,
    );
  });

  it('returns other text unchanged, truncated to maxLength', async () => {
    given.answering(200, { 'content-type': 'text/plain' }, '<b>'.repeat(100));
    expect(await page({ url: given.target.url, maxLength: 100 })).toBe(
      `URL: ${given.target.url}/\n\n${'<b>'.repeat(33)}<\n[cut: 100 of 300 characters]`,
    );
  });

  it('reports a failed request', async () => {
    given.answering(404, { 'content-type': 'text/plain' }, 'nothing here');
    expect(await page({ url: given.target.url })).toBe('Error executing tool "fetch_url": HTTP 404 nothing here');
    given.answering(200, { 'content-type': 'image/png' }, 'x');
    expect(await page({ url: given.target.url })).toContain('this is not text but image/png');
    expect(await page({ url: 'file:///etc/passwd' })).toContain('The URL must begin with https:// or http://');
  });

  it('returns the beginning of an endless page', async () => {
    given.answering(200, { 'content-type': 'text/html' }, `<p>${'word '.repeat(500_000)}`);
    const text = await page({ url: given.target.url, maxLength: 100 });
    expect(text).toMatch(/^URL: .*\n\n(word ){20}\n\[cut: 100 of \d+ characters\]\n\[the rest of the page/);
  });

  it('follows redirects only to public addresses and listed hosts', async () => {
    given.handler = (request, response) =>
      request.path === '/end' ? response.end('end') : response.writeHead(302, { location: 'http://b.test:1/' }).end();
    hosts = ['a.test'];
    expect(await page({ url: `http://a.test:${given.target.port}/` })).toContain('The host b.test is not on the list');
    const strict = fetchUrlTool(given.client({ ports: [given.target.port] }), hostsOf);
    hosts = [];
    for (const host of ['127.0.0.1', '0x7f.1', '[::1]', 'localhost']) {
      expect(await call(strict, { url: `http://${host}:${given.target.port}/` })).toContain(
        'This address is not public.',
      );
    }
    expect(given.target.requests).toHaveLength(1);
  });
});

describe('web_search', () => {
  const found = (n: number) => ({
    title: `T${n}`,
    url: `https://r.test/${n}`,
    content: `C${n}`,
    description: `<strong>C${n}</strong>`,
  });
  const rows = [found(1), { url: 'javascript:1' }, null, 'x', ...[2, 3, 4, 5, 6].map(found)];
  const expected = {
    query: 'q&a',
    results: [1, 2, 3, 4, 5].map((n) => ({ title: `T${n}`, url: `https://r.test/${n}`, snippet: `C${n}` })),
  };
  const backendOf = (env: Record<string, string>) => searchBackend(Config.from(env).values);
  const search = (env: Record<string, string>) => {
    const backend = backendOf(env);
    if (backend === null) throw new Error('it is set up');
    return call(webSearchTool(open(), backend), { query: ' q&a ' });
  };

  it('declares the schema that clients advertise', () => {
    const backend = backendOf({ SEARXNG_URL: 'http://s.test' });
    if (backend === null) throw new Error('it is set up');
    expect(webSearchTool(open(), backend).parameters).toMatchObject({
      required: ['query'],
      properties: { query: { type: 'string' } },
    });
  });

  it('sends the query to Tavily', async () => {
    json({ results: rows });
    expect(JSON.parse(await search({ TAVILY_API_KEY: 'tavily-canary', TAVILY_URL: given.target.url }))).toEqual(
      expected,
    );
    const [request] = given.target.requests;
    expect(request).toMatchObject({
      method: 'POST',
      path: '/search',
      headers: { authorization: 'Bearer tavily-canary' },
    });
    expect(JSON.parse(request?.body ?? '')).toEqual({ query: 'q&a', max_results: 5 });
  });

  it('sends the query to Brave', async () => {
    json({ web: { results: rows } });
    expect(JSON.parse(await search({ BRAVE_API_KEY: 'brave-canary', BRAVE_URL: `${given.target.url}/v1/` }))).toEqual(
      expected,
    );
    expect(given.target.requests[0]).toMatchObject({
      path: '/v1/web/search?q=q%26a&count=5',
      headers: { 'x-subscription-token': 'brave-canary' },
    });
  });

  it('sends the query to SearXNG', async () => {
    json({ results: rows });
    expect(JSON.parse(await search({ SEARXNG_URL: `${given.target.url}/searx` }))).toEqual(expected);
    expect(given.target.requests[0]?.path).toBe('/searx/search?q=q%26a&format=json');
  });

  it('uses the first search engine that is configured', () => {
    expect(backendOf({})).toBeNull();
    const all = { SEARXNG_URL: 'http://s.test', BRAVE_API_KEY: 'b', TAVILY_API_KEY: 't' };
    expect(backendOf(all)?.name).toBe('tavily');
    expect(backendOf({ ...all, TAVILY_API_KEY: '' })?.name).toBe('brave');
    expect(backendOf({ SEARXNG_URL: 'http://s.test' })?.name).toBe('searxng');
  });

  it.each<[number, unknown, string]>([
    [401, { error: 'tavily-canary is wrong' }, 'the search service responded with HTTP status 401'],
    [429, {}, 'the rate limit of the search service is reached; try again later'],
  ])('reports status %i and nothing more', async (status, body, reason) => {
    json(body, status);
    const text = await search({ TAVILY_API_KEY: 'tavily-canary', TAVILY_URL: given.target.url });
    expect(text).toBe(`Error executing tool "web_search": ${reason}`);
  });

  it('returns an empty list for a response without results', async () => {
    for (const body of [{}, [], { results: 'x' }, null]) {
      json(body);
      const env = { TAVILY_API_KEY: 't', TAVILY_URL: given.target.url };
      expect(JSON.parse(await search(env))).toEqual({ query: 'q&a', results: [] });
    }
  });
});

describe('tavily_search', () => {
  const secretsOf = (values: Readonly<Record<string, string>>): Pick<WorkspaceSecrets, 'use'> => ({
    use: (_workspaceId, [name = ''], run) => {
      const value = values[name];
      if (value === undefined) return Promise.reject(new AppError({ code: 'secret_missing', message: `no ${name}` }));
      const redact = (text: string) => text.replaceAll(value, '[redacted]');
      return run({ values: new Map([[name, new Secret(value)]]), redact, redactCut: redact });
    },
  });
  const withKey = { TAVILY_API_KEY: 'tavily-canary' };
  const search = (args: object, secrets: Readonly<Record<string, string>> = withKey) =>
    call(tavilySearchTool(open(), secretsOf(secrets), given.target.url), args);

  it('sends the key of the workspace and all options to Tavily', async () => {
    const row = { title: 'T', url: 'https://r.test/1', content: 'tavily-canary '.repeat(100), score: 0.9 };
    json({ results: [row, { url: 'javascript:1' }, { ...row, score: 'x' }, row] });
    const args = { searchDepth: 'advanced', maxResults: 2, includeDomains: ['r.test'], excludeDomains: ['x.test'] };
    const text = await search({ query: ' weather in Tokyo ', ...args });
    expect(JSON.parse(text)).toMatchObject({
      query: 'weather in Tokyo',
      results: [
        { title: 'T', url: 'https://r.test/1', snippet: expect.stringContaining('[redacted]'), score: 0.9 },
        { score: null },
      ],
    });
    expect(text).not.toContain('canary');
    const [request] = given.target.requests;
    expect(request).toMatchObject({
      method: 'POST',
      path: '/search',
      headers: { authorization: 'Bearer tavily-canary' },
    });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      ...{ query: 'weather in Tokyo', search_depth: 'advanced', max_results: 2 },
      ...{ include_domains: ['r.test'], exclude_domains: ['x.test'] },
    });
  });

  it('requests five results by default', async () => {
    json({ results: [] });
    expect(JSON.parse(await search({ query: 'q' }))).toEqual({ query: 'q', results: [] });
    expect(JSON.parse(given.target.requests[0]?.body ?? '')).toEqual({ query: 'q', max_results: 5 });
  });

  it('fails without the secret, and for arguments beyond its limits, before any request', async () => {
    expect(await search({ query: 'q' }, {})).toBe('Error executing tool "tavily_search": no TAVILY_API_KEY');
    for (const args of [{}, { query: '' }, { query: 'q', maxResults: 21 }, { query: 'q', searchDepth: 'deep' }]) {
      expect(await search(args)).toMatch(/Missing required|Invalid|tavily_search/);
    }
    expect(given.target.requests).toHaveLength(0);
  });
});

describe('coingecko_price', () => {
  const price = (args: object) => call(coingeckoPriceTool(open(), `${given.target.url}/api/v3`), args);

  it('returns a price', async () => {
    json({ bitcoin: { eur: 12.5 } });
    expect(JSON.parse(await price({ id: 'Bitcoin', vs_currency: 'EUR' }))).toEqual({
      id: 'bitcoin',
      vs_currency: 'eur',
      price: 12.5,
    });
    expect(given.target.requests[0]?.path).toBe('/api/v3/simple/price?ids=bitcoin&vs_currencies=eur');
  });

  it('reports a coin without a price', async () => {
    json({});
    expect(await price({ id: 'nocoin' })).toContain('CoinGecko has no price of "nocoin" in "usd"');
    expect(await price({ id: 'a,b' })).toContain('are ids such as');
    expect(given.target.requests).toHaveLength(1);
  });
});
