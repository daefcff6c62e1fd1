import { describe, expect, it } from '@jest/globals';

import { newId, Secret } from '#platform';

import { McpFixture, serverAt, statusesOf } from '../../../../test/harness/mcp-fixture.js';
import type { McpServer } from './mcp-server.js';
import type { NewMcpServer } from './mcp-servers.service.js';

const given = new McpFixture();

describe('registering a server', () => {
  it('lists its tools and offers none of them', async () => {
    const server = await given.start();
    const made = await given.mcp.servers.register(given.here.admin, serverAt(server.url));
    expect(made).toMatchObject({ name: 'test', enabled: true, problem: null });
    expect(statusesOf(made)).toMatchObject({ echo: 'new', send: 'new', add: 'new' });
    expect(await given.mcp.offered(given.workspaceId)).toEqual([]);
  });

  it('offers the tools that the registration accepts', async () => {
    const server = await given.start();
    const some = await given.mcp.servers.register(
      given.here.admin,
      serverAt(server.url, { accept: { names: ['echo', 'send'] } }),
    );
    expect(statusesOf(some)).toMatchObject({ echo: 'accepted', send: 'accepted', add: 'new' });
    expect(await given.mcp.offered(given.workspaceId)).toEqual(['test.echo', 'test.send']);
    await given.mcp.servers.register(given.here.admin, serverAt(server.url, { name: 'all', accept: { all: true } }));
    expect((await given.mcp.offered(given.workspaceId)).filter((name) => name.startsWith('all.')).length).toBe(10);
  });

  it('reads the effect of a tool from its accepted hints and the settings', async () => {
    const server = await given.start();
    const settings = { transport: 'http', url: server.url, effects: { echo: 'once', send: 'pure' } } as const;
    const made = await given.mcp.servers.register(
      given.here.admin,
      serverAt(server.url, { settings, accept: { all: true } }),
    );
    const effects = Object.fromEntries(made.tools.map(({ name, effect }) => [name, effect]));
    expect(effects).toMatchObject({ echo: 'once', add: 'idempotent', send: 'once' });
    const tools = await given.mcp.catalog.of(given.workspaceId);
    expect(tools.find('test.add')).toMatchObject({ effect: 'idempotent', sort: 'mcp', runtime: 'server' });
    expect(tools.find('test.add')?.version).toBe(made.tools.find(({ name }) => name === 'add')?.hash);
  });

  it('stores a server that does not respond, with the reason', async () => {
    const server = await given.start({ intercept: (_, response) => (response.writeHead(401).end(), true) });
    const made = await given.mcp.servers.register(given.here.admin, serverAt(server.url));
    expect(made).toMatchObject({ tools: [], listedAt: null, problem: expect.stringContaining('401') });
  });

  it('refuses a name in use, a wrong name, wrong settings, and more than 20', async () => {
    const server = await given.start();
    await given.mcp.servers.register(given.here.admin, serverAt(server.url));
    const attempts: [NewMcpServer, string, string][] = [
      [serverAt(server.url), 'conflict', 'name'],
      [serverAt(server.url, { name: 'No Name' }), 'bad_request', 'name'],
      [serverAt('ftp://x.test'), 'bad_request', 'url'],
    ];
    for (const [input, code, field] of attempts) {
      await expect(given.mcp.servers.register(given.here.admin, input)).rejects.toMatchObject({ code, field });
    }
    const more = Array.from({ length: 19 }, (_, i) =>
      serverAt('http://127.0.0.1:1/', { name: `s${i}`, enabled: false }),
    );
    for (const input of more) await given.mcp.servers.register(given.here.admin, input);
    await expect(
      given.mcp.servers.register(given.here.admin, serverAt(server.url, { name: 'one-more' })),
    ).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('shows why a tool cannot be offered, and does not accept it', async () => {
    const inputSchema = { type: 'object' };
    const remote = { type: 'object', properties: { a: { $ref: 'http://127.0.0.1:1/' } } };
    const server = await given.start({
      pages: [
        [
          { name: 'ok', inputSchema },
          { name: 'odd', inputSchema: remote },
        ],
      ],
    });
    const made = await given.mcp.servers.register(given.here.admin, serverAt(server.url, { accept: { all: true } }));
    expect(statusesOf(made)).toEqual({ ok: 'accepted', odd: 'new' });
    expect(made.tools.find(({ name }) => name === 'odd')?.problem).toContain('resolve');
    await expect(given.mcp.servers.accept(given.here.admin, made.id, { names: ['odd'] })).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('offers tools with unusual names under valid names', async () => {
    const inputSchema = { type: 'object' };
    const server = await given.start({
      pages: [
        [
          { name: 'get/file', inputSchema },
          { name: 'x'.repeat(100), inputSchema },
        ],
      ],
    });
    await given.mcp.servers.register(given.here.admin, serverAt(server.url, { accept: { all: true } }));
    const names = await given.mcp.offered(given.workspaceId);
    expect(names).toHaveLength(2);
    for (const name of names) expect(name).toMatch(/^test\.[A-Za-z0-9_.-]{1,59}$/);
  });
});

describe('changing a server', () => {
  it('changes the given fields and keeps the others', async () => {
    const server = await given.start();
    const { id } = await given.mcp.servers.register(given.here.admin, serverAt(server.url, { accept: { all: true } }));
    const settings = (before: object) => ({ ...before, timeoutMs: 60_000 }) as NewMcpServer['settings'];
    const changed = await given.mcp.servers.update(given.here.admin, id, { name: 'other', settings });
    expect(changed).toMatchObject({ name: 'other', settings: { url: server.url, timeoutMs: 60_000 } });
    expect(statusesOf(changed)).toMatchObject({ echo: 'accepted' });
    expect((await given.mcp.catalog.of(given.workspaceId)).find('other.echo')).toMatchObject({ timeoutMs: 60_000 });
  });

  it('revokes all acceptances when the address or the command changes', async () => {
    const [one, two] = [await given.start(), await given.start()];
    const { id } = await given.mcp.servers.register(given.here.admin, serverAt(one.url, { accept: { all: true } }));
    const moved = await given.mcp.servers.update(given.here.admin, id, {
      settings: (before) => ({ ...before, url: two.url }) as never,
    });
    expect(statusesOf(moved)).toMatchObject({ echo: 'new' });
    expect(await given.mcp.offered(given.workspaceId)).toEqual([]);
  });

  it('refuses calls of a running job when the server is disabled or removed, or its tool is revoked', async () => {
    const server = await given.start();
    const { id } = await given.mcp.servers.register(given.here.admin, serverAt(server.url, { accept: { all: true } }));
    const tool = (await given.mcp.catalog.of(given.workspaceId)).find('test.echo');
    await given.mcp.servers.update(given.here.admin, id, { enabled: false });
    expect(await given.mcp.offered(given.workspaceId)).toEqual([]);
    expect(await given.mcp.call(given.workspaceId, 'test.echo', { args: { text: 'x' } })).toMatchObject({
      status: 'error',
      modelText: expect.stringContaining('switched off'),
    });
    await given.mcp.servers.update(given.here.admin, id, { enabled: true });
    await given.mcp.servers.revoke(given.here.admin, id, ['echo']);
    expect(await given.mcp.offered(given.workspaceId)).not.toContain('test.echo');
    await given.mcp.servers.remove(given.here.admin, id);
    expect(await given.mcp.servers.find(given.here.admin, id)).toBeNull();
    const context = { signal: new AbortController().signal, idempotencyKey: 'k', epoch: 1, progress: () => undefined };
    await expect(tool?.handler?.({ text: 'x' }, context as never)).rejects.toThrow('removed or switched off');
    expect(server.stage.calls).toEqual([]);
  });

  it('writes an audit entry without the values of headers', async () => {
    await given.mcp.secrets.set(given.here.owner, 'TOKEN', new Secret('canary-0123456789'));
    const server = await given.start();
    const headers = { Authorization: 'Bearer {{secret:TOKEN}}', 'X-Tenant': 'acme' };
    const { id } = await given.mcp.servers.register(
      given.here.admin,
      serverAt(server.url, { settings: { transport: 'http', url: server.url, headers } }),
    );
    await given.mcp.servers.accept(given.here.owner, id, { names: ['echo'] });
    await given.mcp.servers.revoke(given.here.admin, id, ['echo']);
    await given.mcp.servers.update(given.here.admin, id, { name: 'other' });
    await given.mcp.servers.remove(given.here.admin, id);
    const rows = await given.sql(
      `SELECT actor, action, details::text FROM audit_entry WHERE subject_id = $1 ORDER BY id`,
      [id],
    );
    expect(rows.map(({ actor, action }) => [actor, action])).toEqual([
      [given.here.admin.id, 'mcp-server-registered'],
      [given.here.owner.id, 'mcp-tools-accepted'],
      [given.here.admin.id, 'mcp-tools-revoked'],
      [given.here.admin.id, 'mcp-server-changed'],
      [given.here.admin.id, 'mcp-server-removed'],
    ]);
    expect(JSON.stringify(rows)).not.toMatch(/canary|acme/);
  });
});

describe('access to MCP servers', () => {
  it('lets every member read names, and only admins and owners change servers', async () => {
    const server = await given.start();
    const { id } = await given.mcp.servers.register(given.here.admin, serverAt(server.url));
    for (const who of [given.here.member, given.here.viewer]) {
      expect((await given.mcp.servers.list(who, { first: 10 })).items).toMatchObject([{ id }]);
      for (const attempt of [
        () => given.mcp.servers.register(who, serverAt(server.url, { name: 'mine' })),
        () => given.mcp.servers.update(who, id, { name: 'mine' }),
        () => given.mcp.servers.remove(who, id),
        () => given.mcp.servers.refresh(who, id),
        () => given.mcp.servers.accept(who, id, { all: true }),
        () => given.mcp.servers.revoke(who, id, ['echo']),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'forbidden' });
      }
    }
  });

  it('denies access to the servers of another workspace', async () => {
    const server = await given.start();
    const { id } = await given.mcp.servers.register(given.here.admin, serverAt(server.url, { accept: { all: true } }));
    const stranger = given.elsewhere.owner;
    expect((await given.mcp.servers.list(stranger, { first: 10 })).items).toEqual([]);
    expect(await given.mcp.offered(stranger.workspaceId)).toEqual([]);
    for (const wrong of [id, newId(), 'garbage']) {
      expect(await given.mcp.servers.find(stranger, wrong)).toBeNull();
      for (const attempt of [
        () => given.mcp.servers.update(stranger, wrong, { name: 'mine' }),
        () => given.mcp.servers.remove(stranger, wrong),
        () => given.mcp.servers.refresh(stranger, wrong),
        () => given.mcp.servers.accept(stranger, wrong, { all: true }),
        () => given.mcp.servers.revoke(stranger, wrong, ['echo']),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'not_found' });
      }
    }
    const tool = (await given.mcp.catalog.of(given.workspaceId)).find('test.echo');
    expect(tool).toBeDefined();
    expect(statusesOf((await given.mcp.servers.find(given.here.owner, id)) as McpServer)).toMatchObject({
      echo: 'accepted',
    });
  });

  it('returns pages of servers', async () => {
    for (const name of ['a', 'b', 'c']) {
      await given.mcp.servers.register(given.here.admin, serverAt('http://127.0.0.1:1/', { name, enabled: false }));
    }
    const first = await given.mcp.servers.list(given.here.admin, { first: 2 });
    expect([first.items.map(({ name }) => name), first.hasMore]).toEqual([['a', 'b'], true]);
    const rest = await given.mcp.servers.list(given.here.admin, { first: 2, after: first.items[1]?.id });
    expect([rest.items.map(({ name }) => name), rest.hasMore]).toEqual([['c'], false]);
  });
});
