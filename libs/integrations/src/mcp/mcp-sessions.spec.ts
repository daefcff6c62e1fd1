import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { GuardedFetch, ManualClock, newId } from '#platform';

import { McpTestServer } from '../../../../test/harness/mcp-server.js';
import { until } from '../../../../test/harness/until.js';
import type { McpListing } from './mcp-connection.js';
import { McpSession } from './mcp-session.js';
import { McpSessions, type McpTarget } from './mcp-sessions.js';
import { parseMcpSettings } from './mcp-settings.js';
import { mcpFetch } from './mcp-transport.js';

const never = new AbortController().signal;
let guard: GuardedFetch;
let server: McpTestServer;
let clock: ManualClock;
let opened: McpSession[];
let listings: McpListing[];
let sessions: McpSessions;

beforeAll(() => {
  guard = new GuardedFetch({ allowPrivate: true });
});
beforeEach(async () => {
  server = await McpTestServer.start();
  clock = new ManualClock();
  opened = [];
  listings = [];
  sessions = new McpSessions(connect, { clock, idleMs: 60_000, max: 3 });
});
afterEach(async () => {
  await sessions.close();
  await server.close();
});
afterAll(() => guard.close());

async function connect({ endpoint }: McpTarget): Promise<McpSession> {
  const listed = (listing: McpListing) => {
    listings.push(listing);
    return Promise.resolve();
  };
  const session = await McpSession.open({ endpoint, fetch: mcpFetch(guard, []), clock, listed });
  opened.push(session);
  return session;
}

interface Aim {
  readonly workspaceId?: string;
  readonly serverId?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function target({ workspaceId = 'here', serverId = 'one', url = server.url, headers = {} }: Aim = {}): McpTarget {
  const settings = parseMcpSettings({ transport: 'http', url });
  const reachable = { workspaceId, serverId, name: 'test', settings, enabled: true, hosts: [] };
  return { server: reachable, endpoint: { transport: 'http', url, headers } };
}

interface Calling {
  readonly key?: string;
  readonly signal?: AbortSignal;
}

/** Calls a tool with the definition that the server had when its session was opened. */
function call(session: McpSession, name: string, { key = newId(), signal = never }: Calling = {}) {
  const tool = listings[0]?.tools.find(({ definition }) => definition.name === name);
  if (tool === undefined) throw new Error('no such tool');
  const context = { idempotencyKey: key, epoch: 1, signal, progress: () => undefined };
  return session.call(tool.hash, { definition: tool.definition, arguments: { text: 'x', to: 'x' }, context });
}

const use = (name: string, of = target(), signal = never) =>
  sessions.use(of, signal, (session) => call(session, name, { signal }));

describe('McpSessions', () => {
  it('opens one session for all calls of a workspace to a server', async () => {
    await Promise.all([use('echo'), use('echo'), use('send')]);
    await use('echo');
    expect(opened).toHaveLength(1);
    expect(server.sessionCount).toBe(1);
  });

  it('shares no session between workspaces, servers, addresses and secrets', async () => {
    await use('echo');
    await use('echo', target({ workspaceId: 'elsewhere' }));
    await use('echo', target({ serverId: 'two' }));
    expect(opened).toHaveLength(3);
    await use('echo', target({ headers: { authorization: 'Bearer another' } }));
    expect(opened).toHaveLength(4);
    await until('the one with the old headers is closed', () => opened[0]?.isClosed === true);
  });

  it('closes an unused session', async () => {
    await use('echo');
    clock.advance(59_999);
    expect(sessions.size).toBe(1);
    clock.advance(1);
    expect(sessions.size).toBe(0);
    await until('it is closed', () => opened[0]?.isClosed === true);
    await until('the server was notified', () => server.requests.some(({ method }) => method === 'DELETE'));
    expect(clock.pending).toBe(0);
  });

  it('keeps a session open while a call runs', async () => {
    const running = use('hang');
    await until('it runs', () => server.stage.held === 1);
    await use('echo');
    clock.advance(600_000);
    expect(sessions.size).toBe(1);
    server.stage.release();
    await running;
  });

  it('closes the least recently used session for a new one, and refuses when all are in use', async () => {
    for (const serverId of ['a', 'b', 'c', 'd']) await use('echo', target({ serverId }));
    expect(sessions.size).toBe(3);
    expect(opened.map((session) => session.isClosed)).toEqual([true, false, false, false]);
    const running = ['b', 'c', 'd'].map((serverId) => use('hang', target({ serverId })));
    await until('all run', () => server.stage.held === 3);
    await expect(use('echo', target({ serverId: 'e' }))).rejects.toThrow('Too many');
    server.stage.release();
    await Promise.all(running);
  });

  it('opens a new session when the server has lost the old one, and sends the call once', async () => {
    await use('echo');
    server.forget();
    await use('send');
    expect(opened).toHaveLength(2);
    expect(server.stage.calls.map(({ tool }) => tool)).toEqual(['echo', 'send']);
  });

  it('opens a new session after a broken connection', async () => {
    await expect(use('die')).rejects.toThrow('Whether the tool ran is not known.');
    await use('echo');
    expect(opened).toHaveLength(2);
    expect(sessions.size).toBe(1);
  });

  it('keeps the session after an aborted call and a failed tool', async () => {
    const stop = new AbortController();
    const stopped = use('hang', target(), stop.signal);
    await until('it runs', () => server.stage.held === 1);
    stop.abort();
    await expect(stopped).rejects.toThrow();
    await use('fail');
    await use('echo');
    expect(opened).toHaveLength(1);
  });

  it('opens a session again after a failed attempt', async () => {
    const away = target();
    await server.close();
    await expect(use('echo', away)).rejects.toMatchObject({ kind: 'unusable' });
    expect(sessions.size).toBe(0);
    server = await McpTestServer.start();
    await use('echo', target());
    expect(opened).toHaveLength(1);
  });

  it('stops waiting for a session when the call is stopped', async () => {
    const silent = await McpTestServer.start({ intercept: () => true });
    const stop = new AbortController();
    const waiting = use('echo', target({ url: silent.url }), stop.signal);
    await until('it is asked', () => silent.requests.length > 0);
    stop.abort();
    await expect(waiting).rejects.toThrow('stopped');
    await silent.close();
  });

  it('closes all sessions when it closes, and opens none afterwards', async () => {
    const running = use('hang');
    await until('it runs', () => server.stage.held === 1);
    const ended = expect(running).rejects.toMatchObject({ kind: 'call_lost' });
    await sessions.close();
    await ended;
    expect(sessions.size).toBe(0);
    await expect(use('echo')).rejects.toThrow('about to stop');
  });
});

describe('a session', () => {
  const fresh = () => sessions.use(target(), never, (session) => Promise.resolve(session));

  it('rejects a tool whose definition has changed as soon as the server notifies it', async () => {
    const session = await fresh();
    server.describe('send', 'Sends a mail, and a copy to eve.');
    await until('it is listed again', () => listings.length === 2);
    await expect(call(session, 'send')).rejects.toMatchObject({ kind: 'refused', message: /has changed/ });
    expect(server.stage.calls).toEqual([]);
    await call(session, 'echo');
  });

  it('lists the tools again after five minutes', async () => {
    await sessions.use(target(), never, async (session) => {
      server.describe('send', 'Sends a mail, and a copy to eve.', false);
      await call(session, 'send');
      clock.advance(300_001);
      await expect(call(session, 'send')).rejects.toThrow('has changed');
    });
  });

  it('refuses a tool that the server no longer lists', async () => {
    const session = await fresh();
    const other = await McpTestServer.start({ pages: [[]] });
    await session.close();
    await expect(use('send', target({ url: other.url }))).rejects.toThrow('no longer offers this tool');
    await sessions.close();
    await other.close();
  });

  it('lists the tools once for concurrent calls', async () => {
    const session = await fresh();
    await Promise.all([session.refresh(), session.refresh(), session.refresh()]);
    expect(listings.length).toBe(2);
  });
});
