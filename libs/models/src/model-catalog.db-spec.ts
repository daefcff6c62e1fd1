import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Config, newId, Redactor, Secret, SecretBox, systemClock } from '#platform';

import { ScriptedModel } from '../../../test/harness/scripted-model.js';
import { textReply } from '../../../test/harness/scripted-reply.js';
import { WorkspaceFixture } from '../../../test/harness/workspace-fixture.js';
import { jobKeyPlace, ModelCatalog } from './model-catalog.js';
import { ModelProvidersRepository } from './providers/model-providers.repository.js';
import { ModelProvidersService } from './providers/model-providers.service.js';
import { WorkspaceModels } from './providers/workspace-models.js';

const key = new Secret('sk-canary-0123456789');
const groq = { name: 'Groq', baseUrl: 'https://api.groq.com/openai/v1', defaultModel: 'llama', apiKey: key };
const secretBox = new SecretBox(new Secret('the secret of the provider tests, long enough'));
const given = new WorkspaceFixture();

function open(settings: Readonly<Record<string, string>> = {}) {
  const { prisma } = given.database;
  const config = Config.from({ ALLOW_PRIVATE_MODEL_URLS: 'true', ...settings });
  const redactor = new Redactor();
  const repository = new ModelProvidersRepository(prisma);
  const service = new ModelProvidersService(prisma, repository, secretBox, config, given.bus);
  const catalog = new ModelCatalog(
    config,
    secretBox,
    new WorkspaceModels(repository, given.bus, systemClock),
    redactor,
  );
  return { service, catalog, redactor };
}

describe('ModelCatalog', () => {
  let server: ScriptedModel;

  beforeEach(async () => {
    server = await ScriptedModel.start();
  });

  afterEach(async () => {
    await server.close();
  });

  /** Returns the model and the API key that a job of this workspace sends to its provider, or the code of the error. */
  async function asked(catalog: ModelCatalog, ownKey?: Secret): Promise<unknown> {
    const { workspaceId } = given;
    const jobId = newId();
    const keyCipher = ownKey === undefined ? null : secretBox.seal(ownKey, jobKeyPlace({ workspaceId, jobId }));
    server.enqueue(textReply(['Hi']));
    try {
      const { model, modelName } = await catalog.modelOf({ workspaceId, jobId, model: 'wanted', keyCipher });
      for await (const parts of model.stream({ model: modelName, messages: [] }, new AbortController().signal))
        expect(parts.length).toBeGreaterThan(0);
      const request = server.requests.at(-1);
      return `${String(request?.json['model'])} ${request?.headers['authorization'] ?? 'no key'}`;
    } catch (error) {
      return (error as { code?: unknown }).code; // an AppError in all cases here
    }
  }

  const nameFor = (catalog: ModelCatalog, options: { wanted?: string; hasOwnKey?: boolean } = {}) =>
    catalog.modelNameFor({
      workspaceId: given.workspaceId,
      wanted: options.wanted ?? null,
      hasOwnKey: options.hasOwnKey ?? false,
    });

  it('calls the provider of the installation, with the key of the request if it has one', async () => {
    const { catalog } = open({
      MODEL_BASE_URL: server.url,
      MODEL_API_KEY: 'instance-key',
      MODEL_NAME: 'instance-model',
    });
    expect(await asked(catalog)).toBe('wanted Bearer instance-key');
    expect(await asked(catalog, key)).toBe(`wanted Bearer ${key.reveal()}`);
    expect(await nameFor(catalog)).toBe('instance-model');
    expect(await nameFor(catalog, { wanted: 'w' })).toBe('w');
    await catalog.onApplicationShutdown();
  });

  it('calls the default provider of the workspace once it has one', async () => {
    const { catalog, service } = open({ MODEL_BASE_URL: 'http://127.0.0.1:9/v1', MODEL_API_KEY: 'instance-key' });
    expect(await nameFor(catalog)).toBe('default');
    const { id } = await service.create(given.scope(), { ...groq, baseUrl: server.url });
    await new Promise((resolve) => setImmediate(resolve)); // the hint is on its way
    expect(await nameFor(catalog)).toBe('llama');
    expect(await asked(catalog)).toBe(`wanted Bearer ${key.reveal()}`);
    expect(await asked(catalog, new Secret('my-own-key'))).toBe('wanted Bearer my-own-key');

    await service.update(given.scope(), id, { apiKey: null });
    await new Promise((resolve) => setImmediate(resolve));
    expect(await asked(catalog)).toBe('wanted no key');
    await catalog.onApplicationShutdown();
  });

  it('redacts the key of a workspace in texts of this workspace only', async () => {
    const { catalog, service, redactor } = open();
    const apiKey = new Secret('an-ordinary-word');
    await service.create(given.scope(), { ...groq, baseUrl: server.url, apiKey });
    await asked(catalog);
    expect(redactor.of(given.workspaceId).redact('an-ordinary-word')).toBe('[redacted]');
    expect(redactor.of(newId()).redact('an-ordinary-word')).toBe('an-ordinary-word');
    expect(redactor.everything.redact('an-ordinary-word')).toBe('[redacted]');
    await catalog.onApplicationShutdown();
  });

  it('throws missing_model_key if the workspace requires user keys', async () => {
    await given.sql('UPDATE workspace SET require_user_key = true WHERE id = $1', [given.workspaceId]);
    const { catalog } = open({ MODEL_BASE_URL: server.url, MODEL_API_KEY: 'instance-key' });
    await expect(nameFor(catalog)).rejects.toMatchObject({
      code: 'missing_model_key',
      message: 'Missing model API key',
    });
    expect(await asked(catalog)).toBe('missing_model_key');
    expect(await asked(catalog, key)).toBe(`wanted Bearer ${key.reveal()}`);
    await catalog.onApplicationShutdown();
  });

  it('fails with missing_model_key when neither the installation nor the workspace has a key', async () => {
    const { catalog } = open();
    await expect(nameFor(catalog)).rejects.toMatchObject({ code: 'missing_model_key' });
    expect(await nameFor(catalog, { hasOwnKey: true })).toBe('openrouter/auto');
    await catalog.onApplicationShutdown();
  });

  it('does not decrypt the key of a job for another job', async () => {
    const { catalog } = open({ MODEL_BASE_URL: server.url });
    const { workspaceId } = given;
    const keyCipher = secretBox.seal(key, jobKeyPlace({ workspaceId, jobId: newId() }));
    await expect(catalog.modelOf({ workspaceId, jobId: newId(), model: 'm', keyCipher })).rejects.toMatchObject({
      code: 'secret_unreadable',
    });
    await catalog.onApplicationShutdown();
  });

  it('opens no connection to a stored private URL of a workspace', async () => {
    const { service } = open();
    await service.create(given.scope(), { ...groq, baseUrl: server.url });
    const strict = open({ ALLOW_PRIVATE_MODEL_URLS: 'false' }).catalog;
    expect(await asked(strict)).toBe('model_url_refused');
    expect(server.connections).toBe(0);
    await strict.onApplicationShutdown();
  });
});
