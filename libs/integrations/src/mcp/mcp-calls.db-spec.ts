import { describe, expect, it } from '@jest/globals';

import { ManualClock, Secret } from '#platform';
import { type ToolProgress, UNKNOWN_OUTCOME_TEXT } from '#tools';

import { eventually } from '../../../../test/harness/eventually.js';
import { McpFixture, serverAt } from '../../../../test/harness/mcp-fixture.js';
import type { McpTestServerOptions } from '../../../../test/harness/mcp-server.js';
import { until } from '../../../../test/harness/until.js';
import type { NewMcpServer } from './mcp-servers.service.js';

const given = new McpFixture();
const call = (name: string, calling: Parameters<typeof given.mcp.call>[2] = {}) =>
  given.mcp.call(given.workspaceId, name, calling);

describe.each(['2025', '2026'] as const)('a call of a tool on a server of %s', (era) => {
  it('returns text, or structured content if the definition has an output schema', async () => {
    await given.accepted({ era });
    expect(await call('test.echo', { args: { text: 'hi' } })).toMatchObject({ status: 'completed', result: 'hi' });
    expect(await call('test.add', { args: { a: 1, b: 2 } })).toMatchObject({
      status: 'completed',
      result: '{"sum":3}',
    });
  });

  it('fails with the error text of the tool', async () => {
    await given.accepted({ era });
    const outcome = await call('test.fail');
    expect(outcome).toMatchObject({ status: 'error', modelText: expect.stringContaining('no more paper') });
  });

  it('checks its arguments by the accepted schema before it sends anything', async () => {
    const { server } = await given.accepted({ era });
    expect(await call('test.add', { args: { a: 'one' } })).toMatchObject({
      status: 'error',
      failure: { phase: 'validation' },
    });
    expect(server.stage.calls).toEqual([]);
  });

  it('reports its progress through the context', async () => {
    const { server } = await given.accepted({ era });
    const seen: ToolProgress[] = [];
    const running = call('test.steps', { progress: (progress) => seen.push(progress) });
    await until('all steps were reported', () => seen.length === 3 && server.stage.held === 1);
    server.stage.release();
    expect(await running).toMatchObject({ status: 'completed', result: 'done' });
    expect(seen.map(({ progress }) => progress)).toEqual([1, 2, 3]);
  });

  it('ends at its timeout and notifies the server', async () => {
    const { server } = await given.accepted({ era });
    const clock = new ManualClock();
    const running = call('test.hang', { timeoutMs: 300, clock });
    await until('it runs', () => server.stage.held === 1);
    clock.advance(300);
    expect(await running).toMatchObject({ status: 'timed_out' });
    await until('the server has heard of it', () => server.stage.cancelled.includes('hang'));
  });

  it('ends with an unknown outcome when its job is cancelled', async () => {
    const { server } = await given.accepted({ era });
    const stop = new AbortController();
    const running = call('test.hang', { signal: stop.signal });
    await until('it runs', () => server.stage.held === 1);
    stop.abort(new Error('stopped'));
    expect(await running).toMatchObject({ status: 'interrupted', modelText: UNKNOWN_OUTCOME_TEXT });
    await until('the server has heard of it', () => server.stage.cancelled.includes('hang'));
  });

  it('ends with an unknown outcome when the server dies during it, and the next one succeeds', async () => {
    await given.accepted({ era });
    expect(await call('test.die')).toMatchObject({ status: 'interrupted', modelText: UNKNOWN_OUTCOME_TEXT });
    expect(await call('test.echo', { args: { text: 'hi' } })).toMatchObject({ status: 'completed' });
  });

  it('truncates a large result for the ledger, and fails for one over the limit', async () => {
    await given.accepted({ era });
    expect(await call('test.huge', { args: { bytes: 2_000_000 } })).toMatchObject({
      status: 'completed',
      result: expect.stringContaining('2000000 bytes in total'),
    });
    expect(await call('test.huge', { args: { bytes: 6_000_000 } })).toMatchObject({
      status: 'error',
      modelText: expect.stringContaining('larger than allowed'),
    });
  });
});

describe('a call', () => {
  it('sends the key of the call, and nothing about the requester', async () => {
    const { server } = await given.accepted();
    await call('test.echo', { args: { text: 'hi' } });
    const [seen] = server.stage.calls;
    expect(seen?.headers['idempotency-key']).toBe(seen?.meta['nightshift/idempotencyKey']);
    expect(seen?.headers).not.toHaveProperty('authorization');
    const sent = JSON.stringify([server.requests, server.stage.calls]);
    for (const own of [given.workspaceId, given.here.admin.id, given.here.owner.userId])
      expect(sent).not.toContain(own);
  });

  it('refuses an elicitation of the server', async () => {
    await given.accepted();
    expect(await call('test.ask')).toMatchObject({ status: 'error' });
  });

  it('ends with an error when the server dies during it and it may be repeated', async () => {
    const server = await given.start();
    const settings = { transport: 'http', url: server.url, trusted: true, effect: 'pure' } as const;
    await given.mcp.servers.register(given.here.admin, serverAt(server.url, { settings, accept: { all: true } }));
    const outcome = await call('test.die');
    expect(outcome).toMatchObject({ status: 'error', modelText: expect.stringContaining('is not known') });
  });

  it.each([502, 503, 504])('ends with an unknown outcome when a gateway responds with %i', async (status) => {
    let fails = false;
    const intercept: McpTestServerOptions['intercept'] = (_, response) => {
      if (fails) response.writeHead(status).end();
      return fails;
    };
    await given.accepted({ intercept });
    await call('test.echo', { args: { text: 'hi' } });
    fails = true;
    expect(await call('test.send', { args: { to: 'bob' } })).toMatchObject({
      status: 'interrupted',
      modelText: UNKNOWN_OUTCOME_TEXT,
    });
  });

  it('runs once after a 404 of a server without sessions', async () => {
    let asked = 0;
    let fails = false;
    const intercept: McpTestServerOptions['intercept'] = (_, response) => {
      if (fails && ++asked === 1) {
        response.writeHead(404).end();
        return true;
      }
      return false;
    };
    const { server } = await given.accepted({ era: '2026', intercept });
    await call('test.echo', { args: { text: 'hi' } });
    fails = true;
    expect(await call('test.send', { args: { to: 'bob' } })).toMatchObject({ status: 'error' });
    expect(server.stage.calls.map(({ tool }) => tool)).not.toContain('send');
  });

  it('redacts secrets in its progress before it truncates the text', async () => {
    const secret = 'correct-horse-battery';
    const { server } = await given.accepted();
    await given.mcp.secrets.set(given.here.admin, 'KEY', new Secret(secret));
    const settings = { transport: 'http', url: server.url, headers: { 'X-Key': '{{secret:KEY}}' } } as const;
    const named = { ...serverAt(server.url, { settings, accept: { all: true } }), name: 'keyed' };
    await given.mcp.servers.register(given.here.admin, named);
    server.stage.progressText = (progress) => (progress === 1 ? `with ${secret}` : 'x'.repeat(990) + secret);
    const seen: (string | undefined)[] = [];
    const running = call('keyed.steps', { progress: ({ message }) => seen.push(message) });
    await until('all steps were reported', () => seen.length === 3 && server.stage.held === 1);
    server.stage.release();
    await running;
    expect(seen.slice(0, 2)).toEqual(['with [redacted]', `${'x'.repeat(990)}[redacted]`]);
  });

  it('succeeds after the server has lost the session', async () => {
    const { server } = await given.accepted();
    await call('test.echo', { args: { text: 'hi' } });
    server.forget();
    expect(await call('test.send', { args: { to: 'bob' } })).toMatchObject({ status: 'completed' });
    expect(server.stage.calls.filter(({ tool }) => tool === 'send')).toHaveLength(1);
  });

  it('connects only to hosts on the list of the workspace', async () => {
    const { server } = await given.accepted();
    await given.sql(`UPDATE workspace SET outbound_hosts = '{api.example.com}' WHERE id = $1`, [given.workspaceId]);
    const before = server.requests.length;
    expect(await call('test.echo', { args: { text: 'hi' } })).toMatchObject({
      status: 'error',
      modelText: expect.stringContaining('not on the list of allowed hosts'),
    });
    expect(server.requests.slice(before).filter(({ method }) => method !== 'DELETE')).toEqual([]);
  });
});

describe('process of a stdio MCP server', () => {
  const settings: NewMcpServer['settings'] = {
    transport: 'stdio',
    command: process.execPath,
    args: ['--no-warnings', `${process.cwd()}/test/harness/mcp-stdio.main.ts`],
    env: { GREETING: 'hello' },
  };

  it('gets its own environment variables, and not those of this process', async () => {
    const made = await given.mcp.servers.register(given.here.admin, serverAt('', { settings, accept: { all: true } }));
    expect(made).toMatchObject({ problem: null, tools: { length: 3 } });
    const variable = async (name: string) =>
      (await call('test.environment', { args: { name } })) as { result?: string };
    expect((await variable('GREETING')).result).toBe('hello');
    expect((await variable('NIGHTSHIFT_TEST_POSTGRES')).result).toBe('nothing'); // which this process has
  });

  it('restarts after it exits during a call, and stops when the MCP server is removed', async () => {
    const { id } = await given.mcp.servers.register(
      given.here.admin,
      serverAt('', { settings, accept: { all: true } }),
    );
    const pid = async () => Number(((await call('test.pid')) as { result?: string }).result);
    const first = await pid();
    expect(await pid()).toBe(first);
    expect(await call('test.exit')).toMatchObject({ status: 'interrupted' });
    const second = await pid();
    expect(second).not.toBe(first);
    await given.mcp.servers.remove(given.here.admin, id);
    await eventually('the process is gone', () => (isAlive(second) ? undefined : true));
  });

  it('ends with the process that started it', async () => {
    await given.mcp.servers.register(given.here.admin, serverAt('', { settings, accept: { all: true } }));
    const another = await given.another();
    const { result } = (await another.call(given.workspaceId, 'test.pid')) as { result?: string };
    expect(isAlive(Number(result))).toBe(true);
    await another.close();
    await eventually('the process is gone', () => (isAlive(Number(result)) ? undefined : true));
  });

  it('reports when its command cannot be started', async () => {
    const nowhere = { transport: 'stdio', command: '/nowhere/at-all' } as const;
    const made = await given.mcp.servers.register(given.here.admin, serverAt('', { settings: nowhere }));
    expect(made.problem).toBe('The command of the MCP server cannot be started.');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
