import { inspect } from 'node:util';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { newId, Redactor, Secret, SecretBox } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { WorkspaceSecretsRepository } from './workspace-secrets.repository.js';
import { WorkspaceSecrets } from './workspace-secrets.service.js';

const canary = 'canary-0123456789"/+ü';
let database: TestDatabase;
let identities: TestIdentities;
let here: Record<Role, MemberPrincipal>;
let elsewhere: Record<Role, MemberPrincipal>;
let redactor: Redactor;
let secrets: WorkspaceSecrets;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
  elsewhere = await identities.workspaceOf(newId());
  redactor = new Redactor();
  const box = new SecretBox(new Secret('the secret of the secrets tests, long enough'));
  secrets = new WorkspaceSecrets(database.prisma, new WorkspaceSecretsRepository(database.prisma), box, redactor);
});
afterAll(async () => {
  identities.auth.close();
  await database.close();
});

const sql = (text: string) =>
  database.postgres.withWorkspaceSql(here.owner.workspaceId, async (client) => {
    const { rows } = await client.query<Record<string, unknown>>(text);
    return rows;
  });
const logs = (text: string) => redactor.everything.redact(text);
const opened = async (who: MemberPrincipal, name: string) =>
  (await secrets.resolve(who.workspaceId, [name])).get(name)?.reveal();

describe('WorkspaceSecrets', () => {
  it('stores a value that only running tools can read', async () => {
    const set = await secrets.set(here.admin, 'TOKEN', new Secret(canary));
    expect(Object.keys(set).sort()).toEqual(['createdAt', 'id', 'name', 'setBy', 'updatedAt']);
    expect(set).toMatchObject({ name: 'TOKEN', setBy: here.admin.id });
    expect(await secrets.list(here.owner)).toEqual([set]);
    expect(await opened(here.owner, 'TOKEN')).toBe(canary);
    expect(inspect(await secrets.resolve(here.owner.workspaceId, ['TOKEN']))).not.toContain('canary');
  });

  it('writes no part of a value to rows and the audit', async () => {
    await secrets.set(here.admin, 'TOKEN', new Secret(canary));
    const rows = JSON.stringify(await sql('SELECT s::text, a::text AS audit FROM workspace_secret s, audit_entry a'));
    expect(rows).toContain('secret-set');
    expect(rows).not.toContain('canary');
    expect(rows).not.toContain(Buffer.from('canary').toString('hex'));
  });

  it('replaces the old value', async () => {
    const first = await secrets.set(here.admin, 'TOKEN', new Secret(canary));
    const second = await secrets.set(here.owner, 'TOKEN', new Secret('another-value'));
    expect(second).toMatchObject({ id: first.id, setBy: here.owner.id });
    expect(await opened(here.owner, 'TOKEN')).toBe('another-value');
    await Promise.all([1, 2, 3].map((n) => secrets.set(here.owner, 'RACE', new Secret(`value-number-${n}`))));
    expect((await secrets.list(here.owner)).map(({ name }) => name)).toEqual(['RACE', 'TOKEN']);
  });

  it('removes a secret for good', async () => {
    await secrets.set(here.admin, 'TOKEN', new Secret(canary));
    await secrets.remove(here.admin, 'TOKEN');
    expect(await secrets.list(here.owner)).toEqual([]);
    expect(await opened(here.owner, 'TOKEN')).toBeUndefined();
    await expect(secrets.remove(here.admin, 'TOKEN')).rejects.toMatchObject({ code: 'not_found' });
    expect(await sql(`SELECT action FROM audit_entry WHERE subject_type = 'WorkspaceSecret' ORDER BY id`)).toEqual([
      { action: 'secret-set' },
      { action: 'secret-removed' },
    ]);
  });

  it('serves admins only, and reveals nothing to other principals', async () => {
    await secrets.set(here.admin, 'TOKEN', new Secret(canary));
    for (const who of [here.member, here.viewer]) {
      for (const attempt of [
        () => secrets.list(who),
        () => secrets.set(who, 'TOKEN', new Secret(canary)),
        () => secrets.remove(who, 'TOKEN'),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'not_found' });
      }
    }
  });

  it('keeps workspaces apart', async () => {
    await secrets.set(here.admin, 'TOKEN', new Secret(canary));
    expect(await secrets.list(elsewhere.owner)).toEqual([]);
    expect(await opened(elsewhere.owner, 'TOKEN')).toBeUndefined();
    await expect(secrets.remove(elsewhere.owner, 'TOKEN')).rejects.toMatchObject({ code: 'not_found' });
    await secrets.set(elsewhere.owner, 'TOKEN', new Secret('their own value'));
    expect(await opened(here.owner, 'TOKEN')).toBe(canary);
  });

  it('does not decrypt a value that was moved to another row', async () => {
    await secrets.set(here.admin, 'ONE', new Secret(canary));
    await secrets.set(here.admin, 'TWO', new Secret('another-value'));
    await sql(
      `UPDATE workspace_secret SET cipher = (SELECT cipher FROM workspace_secret WHERE name = 'ONE') WHERE name = 'TWO'`,
    );
    await expect(secrets.resolve(here.owner.workspaceId, ['TWO'])).rejects.toMatchObject({ code: 'secret_unreadable' });
  });

  it.each([
    ['1A', 'value-long-enough', 'name'],
    ['A-B', 'value-long-enough', 'name'],
    ['a'.repeat(65), 'value-long-enough', 'name'],
    ['A', 'short', 'value'],
    ['A', 'x'.repeat(8_193), 'value'],
    ['A', 'with\0zero-byte', 'value'],
  ])('refuses %s', async (name, value, field) => {
    await expect(secrets.set(here.admin, name, new Secret(value))).rejects.toMatchObject({
      code: 'bad_request',
      field,
    });
  });

  it('stores at most 100 secrets', async () => {
    for (let n = 0; n < 100; n++) await secrets.set(here.admin, `S${n}`, new Secret(`value-number-${n}`));
    await expect(secrets.set(here.admin, 'ONE_MORE', new Secret(canary))).rejects.toMatchObject({ code: 'conflict' });
    expect(await secrets.set(here.admin, 'S7', new Secret(canary))).toMatchObject({ name: 'S7' });
  });

  it('redacts secrets in all encodings only while they are in use', async () => {
    await secrets.set(here.admin, 'TOKEN', new Secret(canary));
    const forms = [canary, JSON.stringify(canary), encodeURIComponent(canary), Buffer.from(canary).toString('base64')];
    const ours = redactor.of(here.owner.workspaceId);
    await secrets.use(here.owner.workspaceId, ['TOKEN'], ({ redact }) => {
      for (const text of forms) {
        for (const shown of [redact, ours.redact.bind(ours), logs].map((one) => one(`a ${text} b`))) {
          expect(shown).toContain('[redacted]');
          expect(shown).not.toContain(text.slice(1, -4));
        }
      }
      return Promise.resolve();
    });
    expect([ours.redact(canary), logs(canary)]).toEqual([canary, canary]);
  });

  it('redacts nothing in texts of other workspaces', async () => {
    await secrets.set(here.admin, 'WORD', new Secret('ordinary word'));
    await secrets.use(here.owner.workspaceId, ['WORD'], () => {
      const theirs = redactor.of(elsewhere.owner.workspaceId);
      expect(theirs.redact('an ordinary word of ours')).toBe('an ordinary word of ours');
      expect(theirs.redactKnown('an ordinary word of ours')).toBe('an ordinary word of ours');
      expect(redactor.redact('an ordinary word of the server')).toBe('an ordinary word of the server');
      return Promise.resolve();
    });
  });

  it('names the secret that is not set', async () => {
    const use = secrets.use(here.owner.workspaceId, ['TOKEN'], () => Promise.resolve());
    await expect(use).rejects.toThrow('the secret "TOKEN" is not set in this workspace');
  });

  it('opens at most 32,768 characters of secrets for a call', async () => {
    const names = ['A', 'B', 'C', 'D', 'E'];
    for (const name of names) await secrets.set(here.owner, name, new Secret(`${name}${'x'.repeat(8_191)}`));
    const use = (count: number) =>
      secrets.use(here.owner.workspaceId, names.slice(0, count), () => Promise.resolve(count));
    expect(await use(4)).toBe(4);
    await expect(use(5)).rejects.toMatchObject({ code: 'secret_unreadable' });
  });
});
