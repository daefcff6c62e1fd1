import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { GuardedFetch, newId } from '#platform';
import { defineTool } from '#tools';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { openWorkspaceTools } from '../../../../test/harness/workspace-tools.js';

const definition = { name: 'get_user', description: 'Finds a user.', method: 'GET', url: 'https://a.test/users' };
const all = { first: 100 };
const fetch = new GuardedFetch();

let database: TestDatabase;
let identities: TestIdentities;
let here: Record<Role, MemberPrincipal>;
let elsewhere: Record<Role, MemberPrincipal>;
let parts: ReturnType<typeof openWorkspaceTools>;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
  elsewhere = await identities.workspaceOf(newId());
  parts = openWorkspaceTools(database, fetch);
});
afterAll(async () => {
  identities.auth.close();
  await fetch.close();
  await database.close();
});

const namesIn = async (who: MemberPrincipal) =>
  (await parts.catalog.of(who.workspaceId)).list().map(({ name }) => name);
const actions = async () => {
  const rows = await database.prisma.withWorkspace(here.owner, (tx) =>
    tx.auditEntry.findMany({ where: { subjectType: { in: ['WorkspaceTool', 'Workspace'] } }, orderBy: { id: 'asc' } }),
  );
  return rows.map(({ action }) => action).filter((action) => action !== 'workspace-created');
};

describe('WorkspaceToolsService', () => {
  it('registers a tool that is available to the workspace at once', async () => {
    const tool = await parts.tools.register(here.admin, definition);
    expect(tool).toMatchObject({ name: 'get_user', enabled: true, version: 1, definition: { effect: 'once' } });
    const [listed] = (await parts.catalog.of(here.owner.workspaceId)).list();
    expect(listed).toMatchObject({ name: 'get_user', sort: 'http', version: `${tool.id}@1`, runtime: 'server' });
    expect(listed?.grantKey?.({})).toBe('GET a.test');
    expect(await parts.tools.get(here.owner, tool.id)).toEqual(tool);
    expect(await parts.tools.list(here.owner, all)).toEqual({ items: [tool], hasMore: false });
  });

  it('creates a version for each change and keeps the earlier ones', async () => {
    const { id } = await parts.tools.register(here.admin, definition);
    const changed = await parts.tools.update(here.owner, id, { ...definition, name: 'find_user', effect: 'pure' });
    expect(changed).toMatchObject({ name: 'find_user', version: 2 });
    expect(await parts.tools.versions(here.owner, id)).toMatchObject([
      { version: 2, createdBy: here.owner.id, definition: { name: 'find_user', effect: 'pure' } },
      { version: 1, createdBy: here.admin.id, definition: { name: 'get_user', effect: 'once' } },
    ]);
    const tools = await parts.catalog.of(here.owner.workspaceId);
    expect(tools.list().map(({ version }) => version)).toEqual([`${id}@2`]);
  });

  it('creates two versions for two concurrent changes', async () => {
    const { id } = await parts.tools.register(here.admin, definition);
    const change = (n: number) => parts.tools.update(here.admin, id, { ...definition, description: `Number ${n}` });
    const changed = await Promise.all([1, 2, 3].map(change));
    expect(changed.map(({ version }) => version).sort()).toEqual([2, 3, 4]);
  });

  it('hides a tool that is disabled, and shows it again', async () => {
    const { id } = await parts.tools.register(here.admin, definition);
    expect(await parts.tools.setEnabled(here.admin, id, false)).toMatchObject({ enabled: false });
    expect(await namesIn(here.owner)).toEqual([]);
    await parts.tools.setEnabled(here.admin, id, true);
    expect(await namesIn(here.owner)).toEqual(['get_user']);
  });

  it('removes a tool, frees its name and keeps its history', async () => {
    const { id } = await parts.tools.register(here.admin, definition);
    await parts.tools.remove(here.admin, id);
    expect(await namesIn(here.owner)).toEqual([]);
    expect(await parts.tools.list(here.owner, all)).toMatchObject({ items: [] });
    for (const attempt of [
      () => parts.tools.get(here.owner, id),
      () => parts.tools.update(here.owner, id, definition),
      () => parts.tools.setEnabled(here.owner, id, true),
      () => parts.tools.remove(here.owner, id),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'not_found' });
    }
    await parts.tools.register(here.admin, definition);
    const kept = await database.prisma.withWorkspace(here.owner, (tx) => tx.workspaceToolVersion.count());
    expect(kept).toBe(2);
  });

  it('writes an audit entry for each change', async () => {
    const { id } = await parts.tools.register(here.admin, definition);
    await parts.tools.update(here.admin, id, definition);
    await parts.tools.setEnabled(here.admin, id, false);
    await parts.tools.remove(here.admin, id);
    await parts.hosts.set(here.admin, ['a.test']);
    expect(await actions()).toEqual([
      'tool-registered',
      'tool-changed',
      'tool-disabled',
      'tool-removed',
      'outbound-hosts-set',
    ]);
  });

  it('refuses a name in use: by another tool, or by one of the server', async () => {
    parts.registry.register(
      defineTool({ name: 'taken', description: 'd', input: { type: 'object' }, execute: () => '' }),
    );
    const { id } = await parts.tools.register(here.admin, definition);
    const other = await parts.tools.register(here.admin, { ...definition, name: 'other' });
    for (const attempt of [
      () => parts.tools.register(here.admin, definition),
      () => parts.tools.register(here.admin, { ...definition, name: 'taken' }),
      () => parts.tools.update(here.admin, other.id, definition),
      () => parts.tools.update(here.admin, id, { ...definition, name: 'taken' }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'conflict', field: 'definition.name' });
    }
    const both = await Promise.allSettled(
      [1, 2].map(() => parts.tools.register(here.admin, { ...definition, name: 'race' })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('rejects an invalid tool before it writes anything', async () => {
    const attempt = parts.tools.register(here.admin, { ...definition, url: 'https://{host}/' });
    await expect(attempt).rejects.toMatchObject({ code: 'bad_request', field: 'definition.url' });
    expect(await parts.tools.list(here.owner, all)).toMatchObject({ items: [] });
  });

  it('serves admins only, and reveals nothing to other principals', async () => {
    const { id } = await parts.tools.register(here.admin, definition);
    for (const who of [here.member, here.viewer]) {
      for (const attempt of [
        () => parts.tools.list(who, all),
        () => parts.tools.get(who, id),
        () => parts.tools.versions(who, id),
        () => parts.tools.register(who, definition),
        () => parts.tools.update(who, id, definition),
        () => parts.tools.setEnabled(who, id, false),
        () => parts.tools.remove(who, id),
        () => parts.trials.run(who, { id }, {}),
        () => parts.trials.run(who, { definition }, {}),
        () => parts.hosts.get(who),
        () => parts.hosts.set(who, []),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'not_found' });
      }
    }
  });

  it('keeps workspaces apart', async () => {
    const { id } = await parts.tools.register(here.admin, definition);
    expect(await namesIn(elsewhere.owner)).toEqual([]);
    expect(await parts.tools.list(elsewhere.owner, all)).toMatchObject({ items: [] });
    expect(await parts.tools.versions(elsewhere.owner, id)).toEqual([]);
    for (const attempt of [
      () => parts.tools.get(elsewhere.owner, id),
      () => parts.tools.update(elsewhere.owner, id, definition),
      () => parts.tools.setEnabled(elsewhere.owner, id, false),
      () => parts.tools.remove(elsewhere.owner, id),
      () => parts.trials.run(elsewhere.owner, { id }, {}),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await parts.tools.register(elsewhere.owner, definition)).toMatchObject({ version: 1 });
  });

  it('skips a stored tool that this build cannot read', async () => {
    const { id } = await parts.tools.register(here.admin, definition);
    await parts.tools.register(here.admin, { ...definition, name: 'other' });
    await database.prisma.withWorkspace(here.owner, (tx) =>
      tx.workspaceToolVersion.create({
        data: { workspaceId: here.owner.workspaceId, toolId: id, version: 2, definition: { a: 1 }, createdBy: 'x' },
      }),
    );
    await database.prisma.withWorkspace(here.owner, (tx) =>
      tx.workspaceTool.updateMany({ where: { id }, data: { version: 2 } }),
    );
    parts.catalog.forget(here.owner.workspaceId);
    expect(await namesIn(here.owner)).toEqual(['other']);
  });

  it('pages through its tools', async () => {
    const made = [];
    for (const n of [1, 2, 3]) made.push(await parts.tools.register(here.admin, { ...definition, name: `tool_${n}` }));
    const names = async (first: number, after?: string) => {
      const { items, hasMore } = await parts.tools.list(here.owner, { first, after });
      return [...items.map(({ name }) => name), hasMore];
    };
    expect(await names(2)).toEqual(['tool_1', 'tool_2', true]);
    expect(await names(2, made[0]?.id)).toEqual(['tool_2', 'tool_3', false]);
  });
});

describe('OutboundHosts', () => {
  it('normalizes hosts', async () => {
    const hosts = [' API.Example.com ', 'api.example.com.', '*.Wide.test', 'bücher.example', '[::1]', '10.0.0.1'];
    const kept = ['api.example.com', '*.wide.test', 'xn--bcher-kva.example', '[::1]', '10.0.0.1'];
    expect(await parts.hosts.set(here.admin, hosts)).toEqual(kept);
    expect(await parts.hosts.get(here.owner)).toEqual(kept);
    expect(await parts.hosts.get(elsewhere.owner)).toEqual([]);
  });

  it.each(['', '*', 'a.test/path', 'https://a.test', 'a.test:80', 'a b', '*.10.0.0.1', 'a.*.test', 'u@a.test'])(
    'refuses %j',
    async (host) => {
      await expect(parts.hosts.set(here.admin, [host])).rejects.toMatchObject({ code: 'bad_request', field: 'hosts' });
    },
  );
});
