import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { openOwnerPrisma } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import type { MemberPrincipal, Role } from '../principal.js';
import { FeatureFlagsRepository } from './feature-flags.repository.js';
import { FeatureFlags } from './feature-flags.service.js';
import { OperatorFlags } from './operator-flags.js';

let database: TestDatabase;
let identities: TestIdentities;
let operator: OperatorFlags;
let red: Record<Role, MemberPrincipal>;
let blue: Record<Role, MemberPrincipal>;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  operator = OperatorFlags.connect(database.urls.owner);
  red = await identities.workspaceOf('red');
  blue = await identities.workspaceOf('blue');
});
afterAll(async () => {
  await operator.close();
  identities.auth.close();
  await database.close();
});

/** A process that has read nothing yet. */
const flags = () => new FeatureFlags(new FeatureFlagsRepository(database.prisma));
const set = (name: string, changes: Omit<Parameters<OperatorFlags['set']>[0], 'name'> = {}) =>
  operator.set({ name, ...changes });

describe('OperatorFlags', () => {
  it('creates a flag that is off for everyone, and changes only the given fields', async () => {
    expect(await set('first', { description: 'The first' })).toEqual({
      ...{ name: 'first', description: 'The first', defaultOn: false, rolloutPercent: 0, rolloutBy: 'workspace' },
      ...{ allowed: [], denied: [] },
    });
    expect(await set('first', { rolloutPercent: 20 })).toMatchObject({ description: 'The first', rolloutPercent: 20 });
    expect(await operator.list()).toContainEqual(expect.objectContaining({ name: 'first', rolloutPercent: 20 }));
  });

  it('moves an id between the lists, and removes it from both', async () => {
    const { workspaceId } = red.owner;
    await set('lists', { allow: [workspaceId, blue.owner.userId] });
    expect(await set('lists', { deny: [workspaceId] })).toMatchObject({
      allowed: [blue.owner.userId],
      denied: [workspaceId],
    });
    expect(await set('lists', { allow: [workspaceId] })).toMatchObject({ denied: [] });
    expect(await set('lists', { unlist: [workspaceId, blue.owner.userId] })).toMatchObject({ allowed: [], denied: [] });
  });

  it.each([
    ['Not-Kebab', {}, 'name'],
    ['over', { rolloutPercent: 101 }, 'rolloutPercent'],
    ['half', { rolloutPercent: 0.5 }, 'rolloutPercent'],
    ['stranger', { allow: ['0190a0a0-0000-7000-8000-00000000dead'] }, 'ids'],
    ['no-id', { deny: ['red'] }, 'deny.0'],
  ])('refuses the flag %s with %j', async (name, changes, field) => {
    await expect(set(name, changes)).rejects.toMatchObject({ code: 'bad_request', field });
  });

  it('refuses to allow and deny an id at once', async () => {
    const ids = [red.owner.workspaceId];
    await expect(set('both', { allow: ids, deny: ids })).rejects.toMatchObject({ code: 'bad_request', field: 'ids' });
  });

  it('records every change, also of a removed flag', async () => {
    await set('recorded', { rolloutPercent: 5 });
    await operator.remove('recorded');
    expect(await operator.history('recorded')).toEqual([
      { flag: 'recorded', action: 'flag-removed', at: expect.any(Number), details: {} },
      { flag: 'recorded', action: 'flag-set', at: expect.any(Number), details: { rolloutPercent: 5 } },
    ]);
    await expect(operator.remove('recorded')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('loses no id when two operators change a flag at once', async () => {
    const other = OperatorFlags.connect(database.urls.owner);
    const ids = [red.owner.workspaceId, blue.owner.workspaceId, red.owner.userId, blue.owner.userId];
    await Promise.all(ids.map((id, at) => (at % 2 === 0 ? operator : other).set({ name: 'shared', allow: [id] })));
    await other.close();
    const shared = (await operator.list()).find(({ name }) => name === 'shared');
    expect([...(shared?.allowed ?? [])].sort()).toEqual([...ids].sort());
  });

  it('refuses a 101st flag', async () => {
    const free = 100 - (await operator.list()).length;
    for (let at = 0; at < free; at++) await set(`filler-${at}`);
    await expect(set('one-more')).rejects.toMatchObject({ code: 'limit_reached' });
    expect(await set('filler-0', { defaultOn: true })).toMatchObject({ defaultOn: true });
    for (let at = 0; at < free; at++) await operator.remove(`filler-${at}`);
  });
});

describe('FeatureFlags', () => {
  it('returns on in the workspace of the allow list only, and off for a flag that does not exist', async () => {
    await set('allowed', { allow: [red.owner.workspaceId] });
    const process = flags();
    expect(await process.isEnabled('allowed', red.viewer)).toBe(true);
    expect(await process.isEnabled('allowed', blue.viewer)).toBe(false);
    expect(await process.isEnabled('unheard-of', red.viewer)).toBe(false);
    expect(await process.list(red.viewer)).toContainEqual({ name: 'allowed', enabled: true });
  });

  it('applies a change in a process that has read the flag before', async () => {
    await set('changed');
    const process = flags();
    expect(await process.isEnabled('changed', red.member)).toBe(false);
    await set('changed', { allow: [red.member.userId] });
    await eventually('the flag is on', async () =>
      (await process.isEnabled('changed', red.member)) ? true : undefined,
    );
    expect(await process.isEnabled('changed', red.owner)).toBe(false);
  });
});

describe('the tables of feature flags', () => {
  const asRole = (role: 'api' | 'workerPool', sql: string) =>
    database.postgres[role].query<Record<string, unknown>>(sql);
  const writes = [
    `INSERT INTO feature_flag (name) VALUES ('by-a-server')`,
    `UPDATE feature_flag SET default_on = true`,
    `DELETE FROM feature_flag`,
    `INSERT INTO feature_flag_change (id, flag, action, details) VALUES (gen_random_uuid(), 'f', 'flag-set', '{}')`,
    `DELETE FROM feature_flag_change`,
  ];

  it.each(
    writes.flatMap((sql) => [
      { login: 'nightshift_api', role: 'api' as const, sql },
      { login: 'nightshift_engine', role: 'workerPool' as const, sql },
    ]),
  )('refuse writes by $login: $sql', async ({ role, sql }) => {
    await expect(asRole(role, sql)).rejects.toThrow('permission denied');
  });

  it('let workers read the flags, and the API read neither table', async () => {
    await set('readable');
    const { rows } = await asRole('workerPool', `SELECT name FROM feature_flag WHERE name = 'readable'`);
    expect(rows).toEqual([{ name: 'readable' }]);
    for (const table of ['feature_flag', 'feature_flag_change'])
      await expect(asRole('api', `SELECT 1 FROM ${table}`)).rejects.toThrow('permission denied');
  });

  it('refuse a name, a percentage and lists that the commands refuse', async () => {
    const id = red.owner.workspaceId;
    const owner = openOwnerPrisma(database.urls.owner);
    for (const data of [
      { name: 'Upper' },
      { name: 'over', rolloutPercent: 101 },
      { name: 'odd', rolloutBy: 'country' },
      { name: 'both', allowed: [id], denied: [id] },
    ])
      await expect(owner.featureFlag.create({ data })).rejects.toThrow('violates check constraint');
    await owner.$disconnect();
  });
});
