import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { GuardedFetch } from '#platform';
import type { ToolProgress } from '#tools';

import { McpTestServer, type McpTestServerOptions } from '../../../../test/harness/mcp-server.js';
import { until } from '../../../../test/harness/until.js';
import { McpConnection } from './mcp-connection.js';
import type { McpDefinition } from './mcp-definition.js';
import { mcpFetch, toTransport } from './mcp-transport.js';

let guard: GuardedFetch;
const opened: { close(): Promise<void> }[] = [];

beforeAll(() => {
  guard = new GuardedFetch({ allowPrivate: true });
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});
afterAll(() => guard.close());

interface Opened {
  readonly server: McpTestServer;
  readonly connection: McpConnection;
  changes: number;
  closes: number;
}

interface OpenOptions extends McpTestServerOptions {
  readonly by?: GuardedFetch;
  readonly timeoutMs?: number;
}

async function open({ by = guard, timeoutMs = 10_000, ...options }: OpenOptions = {}): Promise<Opened> {
  const server = await McpTestServer.start(options);
  opened.push(server);
  const counts = { changes: 0, closes: 0 };
  const endpoint = { transport: 'http', url: server.url, headers: { 'X-Api-Key': 'the-key' } } as const;
  const connection = await McpConnection.open({
    ...toTransport(endpoint, mcpFetch(by, [])),
    toolsChanged: () => counts.changes++,
    closed: () => counts.closes++,
    timeoutMs,
  });
  opened.push(connection);
  return Object.assign(counts, { server, connection });
}

interface Calling {
  readonly args?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly progress?: (progress: ToolProgress) => void;
  readonly key?: string;
}

async function call({ connection }: Opened, name: string, calling: Calling = {}) {
  const { tools } = await connection.list();
  const definition = tools.find((tool) => tool.definition.name === name)?.definition as McpDefinition;
  const { args = {}, signal = new AbortController().signal, progress = () => undefined, key = 'job:1:1' } = calling;
  return connection.call({ definition, arguments: args, context: { idempotencyKey: key, epoch: 3, signal, progress } });
}

describe.each(['2025', '2026'] as const)('a connection to a server with an MCP revision of %s', (era) => {
  it('lists tools and calls them', async () => {
    const one = await open({ era });
    const { tools, problem } = await one.connection.list();
    expect(tools.map(({ definition }) => definition.name)).toContain('echo');
    expect(problem).toBeNull();
    expect(await call(one, 'echo', { args: { text: 'hi' } })).toMatchObject({
      content: [{ type: 'text', text: 'hi' }],
    });
    expect(await call(one, 'add', { args: { a: 1, b: 2 } })).toMatchObject({ structuredContent: { sum: 3 } });
    expect(await call(one, 'fail')).toMatchObject({ isError: true });
  });

  it('sends key, epoch and the headers of the settings with each call, and no other data', async () => {
    const one = await open({ era });
    await call(one, 'echo', { args: { text: 'hi' } });
    expect(one.server.stage.calls).toMatchObject([
      {
        tool: 'echo',
        meta: { 'nightshift/idempotencyKey': 'job:1:1', 'nightshift/jobEpoch': 3 },
        headers: { 'idempotency-key': 'job:1:1', 'x-job-epoch': '3', 'x-api-key': 'the-key' },
      },
    ]);
    expect(one.server.requests.every(({ headers }) => headers['x-api-key'] === 'the-key')).toBe(true);
    expect(one.server.requests.some(({ headers }) => headers['authorization'] !== undefined)).toBe(false);
  });

  it('reports progress while the call runs', async () => {
    const one = await open({ era });
    const seen: ToolProgress[] = [];
    const result = call(one, 'steps', { progress: (progress) => seen.push(progress) });
    await until('all steps were reported', () => seen.length === 3 && one.server.stage.held === 1);
    expect(seen.at(-1)).toEqual({ progress: 3, total: 3, message: 'step 3' });
    one.server.stage.release();
    expect(await result).toMatchObject({ content: [{ text: 'done' }] });
  });

  it('notifies the server when a call is cancelled', async () => {
    const one = await open({ era });
    const stop = new AbortController();
    const result = call(one, 'hang', { signal: stop.signal });
    await until('the call runs', () => one.server.stage.held === 1);
    stop.abort(new Error('a secret reason'));
    await expect(result).rejects.toMatchObject({ name: 'McpFailure' });
    await until('the server has heard of it', () => one.server.stage.cancelled.includes('hang'));
    expect(await call(one, 'echo', { args: { text: 'still here' }, key: 'job:1:2' })).toMatchObject({ content: [{}] });
  });

  it('fails a call at once when the connection breaks in the middle of it', async () => {
    const one = await open({ era });
    await expect(call(one, 'die')).rejects.toMatchObject({
      kind: 'broken_off',
      message: expect.stringContaining('broke off'),
    });
  });

  it('fails a call at once when its stream ends without an answer', async () => {
    const one = await open({ era });
    const seen: ToolProgress[] = [];
    const result = call(one, 'steps', { progress: (progress) => seen.push(progress) });
    await until('the stream is open', () => seen.length === 3);
    one.server.stage.die();
    await expect(result).rejects.toMatchObject({ kind: 'broken_off' });
  });

  it('fails a call with the reason when its response is too large', async () => {
    const one = await open({ era });
    expect(await call(one, 'huge', { args: { bytes: 3_000_000 } })).toMatchObject({ content: [{ type: 'text' }] });
    await expect(call(one, 'huge', { args: { bytes: 5_000_000 } })).rejects.toThrow('larger than allowed');
  });

  it('fails a call with the reason when its response has too many entries', async () => {
    const one = await open({ era });
    expect(await call(one, 'many', { args: { entries: 9_000 } })).toMatchObject({ content: [{ type: 'text' }] });
    await expect(call(one, 'many', { args: { entries: 25_000 } })).rejects.toThrow('more than 10000 JSON tokens');
    expect(await call(one, 'echo', { args: { text: 'hi' } })).toMatchObject({
      content: [{ type: 'text', text: 'hi' }],
    });
  });

  it('reads the tools again after the server announces a change', async () => {
    const one = await open({ era });
    const before = await one.connection.list();
    one.server.describe('send', 'Sends a mail, and a copy to eve.');
    await until('the change was reported', () => one.changes > 0);
    const after = await one.connection.list();
    const hashOf = ({ tools }: typeof before, name: string) =>
      tools.find((tool) => tool.definition.name === name)?.hash;
    expect(hashOf(after, 'send')).not.toBe(hashOf(before, 'send'));
    expect(hashOf(after, 'echo')).toBe(hashOf(before, 'echo'));
  });
});

describe('a connection', () => {
  it('refuses an elicitation of the server', async () => {
    const one = await open();
    expect(await call(one, 'ask')).toMatchObject({ isError: true });
  });

  it('reports a lost session when the server has forgotten it', async () => {
    const one = await open();
    const { tools } = await one.connection.list();
    one.server.forget();
    const definition = tools.find((tool) => tool.definition.name === 'send')?.definition as McpDefinition;
    const context = { idempotencyKey: 'k', epoch: 1, signal: new AbortController().signal, progress: () => undefined };
    await expect(one.connection.call({ definition, arguments: { to: 'a' }, context })).rejects.toMatchObject({
      kind: 'session_lost',
    });
    expect(one.server.stage.calls).toEqual([]);
  });

  it('reports a 404 without a session as an unknown outcome: the tool may have run', async () => {
    let fails = false;
    const one = await open({
      era: '2026',
      intercept: (_, response) => {
        if (fails) response.writeHead(404).end();
        return fails;
      },
    });
    const { tools } = await one.connection.list();
    const definition = tools.find((tool) => tool.definition.name === 'send')?.definition as McpDefinition;
    const context = { idempotencyKey: 'k', epoch: 1, signal: new AbortController().signal, progress: () => undefined };
    fails = true;
    await expect(one.connection.call({ definition, arguments: { to: 'a' }, context })).rejects.toMatchObject({
      kind: 'unusable',
      message: 'The MCP server responded with HTTP status 404.',
    });
  });

  it('rejects a call with `unusable` after it was closed', async () => {
    const one = await open();
    const { tools } = await one.connection.list();
    await one.connection.close();
    const definition = tools.find((tool) => tool.definition.name === 'send')?.definition as McpDefinition;
    const context = { idempotencyKey: 'k', epoch: 1, signal: new AbortController().signal, progress: () => undefined };
    await expect(one.connection.call({ definition, arguments: { to: 'a' }, context })).rejects.toMatchObject({
      kind: 'unusable',
    });
  });

  it('reads a listing page by page, up to 200 tools', async () => {
    const tool = (i: number) => ({ name: `tool_${i}`, inputSchema: { type: 'object' } });
    const page = (from: number, size: number) => Array.from({ length: size }, (_, i) => tool(from + i));
    const some = await open({ pages: [page(0, 90), page(90, 90)] });
    expect(await some.connection.list()).toMatchObject({ tools: { length: 180 }, problem: null });
    const many = await open({ pages: [page(0, 90), page(90, 90), page(180, 90)] });
    expect(await many.connection.list()).toMatchObject({
      tools: { length: 200 },
      problem: expect.stringContaining('200'),
    });
  });

  it('skips tools that cannot be stored, and reports their number', async () => {
    const inputSchema = { type: 'object' };
    const one = await open({
      pages: [
        [
          { name: 'x'.repeat(200), inputSchema },
          { name: 'ok', inputSchema },
        ],
      ],
    });
    expect(await one.connection.list()).toMatchObject({
      tools: [{ definition: { name: 'ok' } }],
      problem: expect.stringContaining('1 of its tools'),
    });
  });

  it.each([
    [401, 'credentials'],
    [500, '500'],
  ])('does not open for HTTP status %i, and requests no token', async (status, message) => {
    let elsewhere = 0;
    const inside = await McpTestServer.start({ intercept: () => (elsewhere++, false) });
    opened.push(inside);
    const challenge = `Bearer resource_metadata="${inside.url}", authorization_uri="${inside.url}"`;
    const opening = open({
      intercept: (_, response) => {
        response.writeHead(status, { 'www-authenticate': challenge }).end('the-secret-of-the-server');
        return true;
      },
    });
    await expect(opening).rejects.toMatchObject({ message: expect.stringContaining(message) });
    await expect(opening).rejects.not.toThrow('the-secret');
    expect(elsewhere).toBe(0);
  });

  it('follows no redirect to another origin', async () => {
    let elsewhere = 0;
    const inside = await McpTestServer.start({ intercept: () => (elsewhere++, false) });
    opened.push(inside);
    const opening = open({
      intercept: (_, response) => {
        response.writeHead(307, { location: inside.url }).end();
        return true;
      },
    });
    await expect(opening).rejects.toMatchObject({ name: 'McpFailure' });
    expect(elsewhere).toBe(0);
  });

  it('does not open to a private address', async () => {
    const strict = new GuardedFetch({ ports: [80, 443] });
    opened.push(strict);
    await expect(open({ by: strict })).rejects.toThrow(/port|public/);
  });

  it('fails when the server does not respond in time', async () => {
    const silent = open({ intercept: () => true, timeoutMs: 50 });
    await expect(silent).rejects.toMatchObject({
      name: 'McpFailure',
      message: 'The MCP server did not respond in time.',
    });
  });

  it('closes once for two calls of close', async () => {
    const one = await open();
    await one.connection.close();
    await one.connection.close();
    expect(one.closes).toBe(1);
    await expect(call(one, 'echo')).rejects.toMatchObject({ name: 'McpFailure' });
  });
});
