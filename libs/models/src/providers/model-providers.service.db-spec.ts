import { beforeEach, describe, expect, it } from '@jest/globals';

import { Config, newId, Secret, SecretBox } from '#platform';

import { WorkspaceFixture } from '../../../../test/harness/workspace-fixture.js';
import { ModelProvidersRepository } from './model-providers.repository.js';
import { ModelProvidersService } from './model-providers.service.js';

const key = new Secret('sk-canary-0123456789');
const groq = { name: 'Groq', baseUrl: 'https://api.groq.com/openai/v1', defaultModel: 'llama', apiKey: key };
const given = new WorkspaceFixture();

function open(settings: Readonly<Record<string, string>> = {}): ModelProvidersService {
  const { prisma } = given.database;
  const config = Config.from({ ALLOW_PRIVATE_MODEL_URLS: 'true', ...settings });
  const secretBox = new SecretBox(new Secret('the secret of the provider tests, long enough'));
  return new ModelProvidersService(prisma, new ModelProvidersRepository(prisma), secretBox, config, given.bus);
}

describe('ModelProvidersService', () => {
  let providers: ModelProvidersService;

  beforeEach(() => {
    providers = open();
  });

  it('stores a provider and returns all of its fields except its key', async () => {
    const made = await providers.create(given.scope(), { ...groq, name: '  Groq ' });
    expect(made).toMatchObject({
      name: 'Groq',
      baseUrl: groq.baseUrl,
      defaultModel: 'llama',
      keyHint: '6789',
      isDefault: true,
    });
    expect(await providers.list(given.scope())).toEqual([made]);
    expect(await providers.find(given.scope(), made.id)).toEqual(made);

    const [row] = await given.sql('SELECT p::text AS row, a::text AS audit FROM model_provider p, audit_entry a');
    expect(`${String(row?.['row'])} ${String(row?.['audit'])}`).not.toContain('canary');
    expect(`${String(row?.['row'])} ${String(row?.['audit'])}`).not.toContain(Buffer.from('canary').toString('hex'));
  });

  it('writes an audit entry for each change', async () => {
    const { id } = await providers.create(given.scope(), groq);
    await providers.update(given.scope(), id, { name: 'Other' });
    await providers.setDefault(given.scope(), id);
    await providers.delete(given.scope(), id);
    const rows = await given.sql('SELECT actor, action, subject_id FROM audit_entry ORDER BY id');
    const entry = (action: string) => ({ actor: 'user:test', action, subject_id: id });
    expect(rows).toEqual(
      ['model-provider-created', 'model-provider-changed', 'model-provider-made-default', 'model-provider-deleted'].map(
        entry,
      ),
    );
  });

  it('keeps at most one default: the first provider, or the one chosen', async () => {
    const first = await providers.create(given.scope(), groq);
    const second = await providers.create(given.scope(), { ...groq, name: 'Second' });
    const third = await providers.create(given.scope(), { ...groq, name: 'Third', isDefault: true });
    const defaults = async () =>
      (await providers.list(given.scope())).filter((one) => one.isDefault).map((one) => one.id);
    expect([first.isDefault, second.isDefault, third.isDefault]).toEqual([true, false, true]);
    expect(await defaults()).toEqual([third.id]);

    await Promise.all([first, second, third, first, second].map(({ id }) => providers.setDefault(given.scope(), id)));
    expect(await defaults()).toHaveLength(1);
    const [last] = await defaults();
    await providers.delete(given.scope(), String(last));
    expect(await defaults()).toEqual([]);
  });

  it('keeps one default when several providers are created concurrently', async () => {
    const made = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => providers.create(given.scope(), { ...groq, name })),
    );
    expect(made.filter((one) => one.isDefault)).toHaveLength(1);
    expect((await providers.list(given.scope())).filter((one) => one.isDefault)).toHaveLength(1);
  });

  it('changes the given settings and keeps the others', async () => {
    const made = await providers.create(given.scope(), groq);
    const changed = await providers.update(given.scope(), made.id, {
      defaultModel: 'other',
      baseUrl: 'https://api.groq.com/v2',
    });
    expect(changed).toMatchObject({
      name: 'Groq',
      defaultModel: 'other',
      baseUrl: 'https://api.groq.com/v2',
      keyHint: '6789',
      isDefault: true,
    });
    expect(await providers.update(given.scope(), made.id, { apiKey: null })).toMatchObject({ keyHint: null });
  });

  it('requires the key again when the URL has another host', async () => {
    const { id } = await providers.create(given.scope(), groq);
    await expect(providers.update(given.scope(), id, { baseUrl: 'https://evil.test/v1' })).rejects.toMatchObject({
      code: 'bad_request',
      field: 'apiKey',
    });
    const moved = await providers.update(given.scope(), id, {
      baseUrl: 'https://good.test/v1',
      apiKey: new Secret('another-key-4321'),
    });
    expect(moved).toMatchObject({ baseUrl: 'https://good.test/v1', keyHint: '4321' });
  });

  it.each([
    [{ name: '' }, 'bad_request', 'name'],
    [{ name: 'a\0' }, 'bad_request', 'name'],
    [{ defaultModel: ' ' }, 'bad_request', 'defaultModel'],
    [{ apiKey: new Secret('a\r\nb') }, 'bad_request', 'apiKey'],
    [{ baseUrl: 'ftp://x.test' }, 'invalid_base_url', 'baseUrl'],
    [{ baseUrl: 'https://a:b@x.test' }, 'invalid_base_url', 'baseUrl'],
    [{ baseUrl: 'nonsense' }, 'invalid_base_url', 'baseUrl'],
  ])('refuses %j', async (wrong, code, field) => {
    await expect((async () => providers.create(given.scope(), { ...groq, ...wrong }))()).rejects.toMatchObject({
      code,
      field,
    });
    const { id } = await providers.create(given.scope(), groq);
    await expect((async () => providers.update(given.scope(), id, wrong))()).rejects.toMatchObject({ code, field });
  });

  it.each([
    'http://localhost:1/v1',
    'http://127.1/v1',
    'http://[::1]/v1',
    'http://10.0.0.1/v1',
    'http://2130706433/v1',
    'http://169.254.169.254',
  ])('refuses the private base URL %s unless the operator allows private URLs', async (baseUrl) => {
    for (const settings of [
      { ALLOW_PRIVATE_MODEL_URLS: 'false' },
      { ALLOW_PRIVATE_MODEL_URLS: 'false', NODE_ENV: 'production' },
    ]) {
      const strict = open(settings);
      await expect((async () => strict.create(given.scope(), { ...groq, baseUrl }))()).rejects.toMatchObject({
        code: 'invalid_base_url',
      });
    }
    expect(await providers.create(given.scope(), { ...groq, baseUrl })).toMatchObject({ baseUrl });
  });

  it('refuses a name in use', async () => {
    await providers.create(given.scope(), groq);
    const other = await providers.create(given.scope(), { ...groq, name: 'Other' });
    await expect(providers.create(given.scope(), groq)).rejects.toMatchObject({ code: 'conflict', field: 'name' });
    await expect(providers.update(given.scope(), other.id, { name: 'Groq' })).rejects.toMatchObject({
      code: 'conflict',
      field: 'name',
    });
    expect(await providers.update(given.scope(), other.id, { name: 'Other' })).toMatchObject({ name: 'Other' });
  });

  it('hides providers from other workspaces and from members without the right', async () => {
    const { id } = await providers.create(given.scope(), groq);
    for (const stranger of [given.scope(newId()), given.scope(given.workspaceId, false)]) {
      expect(await providers.list(stranger)).toEqual([]);
      expect(await providers.find(stranger, id)).toBeNull();
      await expect(providers.update(stranger, id, { name: 'x' })).rejects.toMatchObject({ code: 'not_found' });
      await expect(providers.setDefault(stranger, id)).rejects.toMatchObject({ code: 'not_found' });
      await expect(providers.delete(stranger, id)).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await providers.find(given.scope(), 'garbage')).toBeNull();
    await expect(providers.delete(given.scope(), 'garbage')).rejects.toMatchObject({ code: 'not_found' });
    expect(await providers.list(given.scope())).toHaveLength(1);
  });
});
