/* eslint-disable @typescript-eslint/no-unsafe-return -- tests know what they asked for */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Role } from '#auth';
import { newId } from '#platform';
import { TriggerFileError } from '#triggers';

import { TriggerFileLoader } from '../../libs/triggers/src/inbound/trigger-file-loader.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { openTestIdentities } from '../harness/identities.js';
import { startProcess } from '../harness/processes.js';

describe('trigger files', () => {
  const SAVE = `mutation($definition: JSON!) { saveTrigger(input: { definition: $definition }) { userErrors { code } } }`;
  const CONNECT = `mutation($name: String!) {
  saveSyntrixConnection(input: { name: $name, baseUrl: "https://syntrix.example" }) { syntrixConnection { id } } }`;

  type Found = Readonly<Record<string, any>>; // eslint-disable-line @typescript-eslint/no-explicit-any -- tests know what they asked for
  let database: TestDatabase;
  let api: TestApi;
  let directory: string;
  let people: Record<Role, TestMember>;
  let admin: GraphqlMember;

  beforeAll(async () => {
    database = await createTestDatabase();
    directory = await mkdtemp(join(tmpdir(), 'triggers-'));
    await writeFile(join(directory, 'none.json'), '[]');
    api = await startTestApi(database, { env: { TRIGGERS_PATH: directory } });
  });
  beforeEach(async () => {
    people = await api.people.workspaceOf(`triggers-${newId()}`);
    admin = graphqlMember(api, people.admin.key);
  });
  afterAll(async () => {
    await api.close();
    await rm(directory, { recursive: true });
    await database.close();
  });

  const loader = () => api.api.app.get(TriggerFileLoader);
  const file = (content: object) => writeFile(join(directory, 'own.json'), JSON.stringify(content));

  it('fail to load if several workspaces have the name of their database', async () => {
    const name = `twice-${newId()}`;
    const create = 'mutation($name: String!) { createWorkspace(input: { name: $name }) { workspace { id } } }';
    for (const member of [admin, graphqlMember(api, people.owner.key)]) await member.query(create, { name });
    await file({
      database: name,
      triggers: { one: { collection: 'messages', events: ['create'], url: '/webhook/llm' } },
    });
    await expect(loader().load()).rejects.toThrow(`"${name}" names 2 workspaces: use an id`);
  });

  it('belong to the workspace of the Syntrix connection whose id or name is their database', async () => {
    const name = `chats-${newId()}`;
    await api.people.workspaceOf(`other-${newId()}`);
    const { saveSyntrixConnection: saved } = (await admin.query(CONNECT, { name })) as Found;
    const id = ((saved as Found)['syntrixConnection'] as Found)['id'] as string;
    const trigger = { triggerId: 'one', collection: 'orders', events: ['create'], url: '/webhook/llm' };
    // The condition has no value, which the trigger counts: the change has reached it.
    const listed = [name, id].map((database) => ({ ...trigger, database, condition: 'missing' }));
    await file(listed);
    await loader().load();
    for (const database of [name, id]) {
      const change = { type: 'create', collection: 'orders', documentId: 'o', timestamp: 1, document: {} };
      const body = { changes: [change] };
      const published = await api.call('POST', `/api/triggers/${database}/changes`, { key: people.admin.key, body });
      expect(published).toMatchObject({ status: 202 });
    }
    const failed = await eventually('both triggers are evaluated', async () => {
      const { triggers } = (await admin.query('{ triggers(first: 10) { nodes { origin failed } } }')) as Found;
      const nodes = (triggers as Found)['nodes'] as Found[];
      return nodes.every(({ failed: times }) => times === 1) ? nodes : undefined;
    });
    expect(failed).toEqual([1, 2].map(() => ({ origin: 'FILE', failed: 1 })));
  });

  it('fail to load, but not the start, if their database names no connection, or connections of several workspaces', async () => {
    const name = `twice-${newId()}`;
    const load = async () => {
      await file({ database: name, triggers: { one: { collection: 'c', events: ['create'], url: '/webhook/llm' } } });
      await loader().load();
    };
    await expect(load()).rejects.toThrow(`database "${name}" names no workspace and no connection`);
    const other = await api.people.workspaceOf(`other-${newId()}`);
    for (const member of [admin, graphqlMember(api, other.admin.key)]) await member.query(CONNECT, { name });
    await expect(load()).rejects.toThrow(`"${name}" names connections of 2 workspaces: use the id of one`);
    await expect(loader().onApplicationBootstrap()).resolves.toBeUndefined();
    loader().onApplicationShutdown();
  });

  it('fail to load, but not the start, with issueToken for a database that a member has named', async () => {
    const name = `tokens-${newId()}`;
    const tokens = (of: string) =>
      file({
        database: of,
        triggers: { one: { collection: 'c', events: ['create'], url: '/webhook/llm', issueToken: true } },
      });
    await admin.query(CONNECT, { name });
    await tokens(name);
    await expect(loader().load()).rejects.toThrow('issueToken works only for');
    await expect(loader().onApplicationBootstrap()).resolves.toBeUndefined();
    loader().onApplicationShutdown();
    await tokens(people.owner.principal.workspaceId);
    await expect(loader().onApplicationBootstrap()).rejects.toThrow('issueToken works only for');
  });

  it('fail to load with a URL that the guard refuses', async () => {
    const { workspaceId } = people.owner.principal;
    const trigger = { collection: 'messages', events: ['create'], url: 'https://127.0.0.1/x' };
    await file({ database: workspaceId, triggers: { one: trigger } });
    await expect(loader().load()).rejects.toThrow(/\(trigger one\)$/);
  });

  it('fail to load for a workspace that would have too many triggers, but not for others, and not the start', async () => {
    const { workspaceId } = people.owner.principal;
    const other = await api.people.workspaceOf(`other-${newId()}`);
    const trigger = { collection: 'messages', events: ['create'], url: '/webhook/llm' };
    await admin.query(SAVE, { definition: { ...trigger, database: 'shop', triggerId: 'own' } });
    const many = Array.from({ length: 1_000 }, (_, n) => ({ ...trigger, database: workspaceId, triggerId: `t${n}` }));
    const one = { ...trigger, database: other.owner.principal.workspaceId, triggerId: 'one' };
    await file([...many, one]);
    await expect(loader().load()).rejects.toThrow('more than 1000 triggers');
    await expect(loader().onApplicationBootstrap()).resolves.toBeUndefined();
    loader().onApplicationShutdown();
    const counts = await Promise.all(
      [admin, graphqlMember(api, other.admin.key)].map(async (member) => {
        const { triggers } = (await member.query('{ triggers(first: 10) { nodes { id } } }')) as Found;
        return ((triggers as Found)['nodes'] as unknown[]).length;
      }),
    );
    expect(counts).toEqual([1, 1]);
  });

  it('save their triggers as the first owner at each load', async () => {
    const { workspaceId } = people.owner.principal;
    await file({
      database: workspaceId,
      triggers: { one: { collection: 'c', events: ['create'], url: '/webhook/llm' } },
    });
    const savers = () =>
      database.postgres.withWorkspaceSql(workspaceId, async (client) => {
        const { rows } = await client.query<{ by: string }>('SELECT saved_by AS by FROM trigger_definition');
        return rows.map(({ by }) => by);
      });
    await loader().load();
    expect(await savers()).toEqual([`user:${people.owner.principal.userId}`]);
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query("UPDATE trigger_definition SET saved_by = 'user:gone'"),
    );
    await loader().load();
    expect(await savers()).toEqual([`user:${people.owner.principal.userId}`]);
  });

  it('replace the triggers that they loaded before, and an invalid file changes nothing', async () => {
    const { workspaceId } = people.owner.principal;
    const trigger = { collection: 'messages', events: ['create'], url: '/webhook/llm' };
    await file({ database: workspaceId, triggers: { one: trigger, two: trigger } });
    await loader().load();
    const ids = async () => {
      const { triggers } = (await admin.query('{ triggers(first: 10) { nodes { origin definition } } }')) as Found;
      return ((triggers as Found)['nodes'] as Found[]).map(({ origin, definition }) => [
        origin,
        (definition as Found)['triggerId'],
      ]);
    };
    expect((await ids()).sort()).toEqual([
      ['FILE', 'one'],
      ['FILE', 'two'],
    ]);
    await file({ database: workspaceId, triggers: { two: { ...trigger, events: ['read'] } } });
    await expect(loader().load()).rejects.toThrow(TriggerFileError);
    expect(await ids()).toHaveLength(2);
    await file({ database: workspaceId, triggers: { two: trigger } });
    await loader().load();
    expect(await ids()).toEqual([['FILE', 'two']]);
    const { saveTrigger } = (await admin.query(SAVE, {
      definition: { ...trigger, database: workspaceId, triggerId: 'two' },
    })) as Found;
    expect(saveTrigger).toMatchObject({ userErrors: [{ code: 'conflict' }] });
  });
});

describe('TRIGGERS_PATH of a process', () => {
  const trigger = { triggerId: 'one', collection: 'messages', events: ['create'], url: '/webhook/llm' };

  let database: TestDatabase;
  let folder: string;
  let workspaceId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = mkdtempSync(join(tmpdir(), 'nightshift-reload-'));
    const identities = openTestIdentities(database);
    workspaceId = (await identities.workspaceOf('acme')).owner.workspaceId;
    identities.auth.close();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await database.close();
  });

  const write = (...triggers: object[]) => {
    writeFileSync(join(folder, 'own.json'), JSON.stringify(triggers));
  };
  const start = () => {
    const env = { TRIGGERS_PATH: folder };
    return startProcess({ role: 'api', databaseUrl: database.urls.owner, secret: TEST_SECRET, env });
  };
  const stored = () =>
    database.postgres.withWorkspaceSql(workspaceId, async (client) => {
      const { rows } = await client.query<{ id: string }>('SELECT trigger_id AS id FROM trigger_definition ORDER BY 1');
      return rows.map(({ id }) => id);
    });

  it('reloads at SIGHUP; an invalid file changes nothing, and the log contains its name and the reason', async () => {
    write(trigger);
    const api = await start();
    expect(await stored()).toEqual(['one']);
    write(trigger, { ...trigger, triggerId: 'two' });
    api.kill('SIGHUP');
    await eventually('the second trigger is loaded', async () => ((await stored()).length === 2 ? true : undefined));
    write({ ...trigger, triggerId: 'three' }, { ...trigger, events: ['read'] });
    api.kill('SIGHUP');
    const line = await eventually('the problem is logged', () =>
      api.logs().find(({ msg }) => msg === 'the trigger files were not reloaded'),
    );
    expect(JSON.stringify(line)).toMatch(/own\.json.*invalid event type: read/);
    expect(await stored()).toEqual(['one', 'two']);
    expect((await api.stop()).code).toBe(0);
  });

  it('ends a start with status 1 and the name and reason of an invalid file', async () => {
    write({ ...trigger, condition: 'role ==' });
    await expect(start()).rejects.toThrow(/own\.json.*invalid condition/);
    expect(await stored()).toEqual(['one', 'two']);
  });
});
