import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { type Auth, KEY_SCOPES, openAuth } from '#auth';
import { toolSecrets } from '#integrations';
import {
  Config,
  createLogger,
  databaseUrls,
  dataDirSecret,
  EmbeddedPostgres,
  migrate,
  newId,
  openPlatform,
  type Platform,
  Postgres,
  Redactor,
  rootBox,
  Secret,
  toolBox,
} from '#platform';

import { openToolInstallation } from '../start.js';
import { heldSecrets } from './open-admin.js';
import { rotateSecret, sealedColumns, type ToolsAccess, toolsAccess } from './sealed-secrets.js';

const secrets = ['the first secret of this installation', 'the second secret of this installation'] as const;

describe('nightshift admin tools-key', () => {
  const dataDir = join(mkdtempSync(join(tmpdir(), 'nightshift-tools-key-')), 'data');
  let server: EmbeddedPostgres;
  let owner: Postgres;
  let first: ToolsAccess;
  const row = { workspaceId: newId(), id: newId() };
  const place = toolSecrets.placeOf(row);

  beforeAll(async () => {
    server = await EmbeddedPostgres.start({ dataDir });
    owner = Postgres.connect({ api: server.url, worker: server.url }, { poolSize: 1 });
    first = await accessWith(secrets[0]);
  });

  afterAll(async () => {
    await owner.close();
    await server.stop();
    rmSync(join(dataDir, '..'), { recursive: true, force: true });
  });

  const settings = (secret: string, previous = '') =>
    Config.from({
      ...{ DATABASE_URL: server.url, NIGHTSHIFT_SECRET: secret, DATA_DIR: dataDir },
      NIGHTSHIFT_PREVIOUS_SECRETS: previous,
    });
  const accessWith = async (secret: string) => {
    await using cleanUp = new AsyncDisposableStack();
    return await toolsAccess(settings(secret), cleanUp);
  };
  const login = (access: ToolsAccess) => openToolInstallation(Config.from({ ROLE: 'tools', ...access }));
  const stored = async () => {
    const { rows } = await owner.workerPool.query<{ cipher: Buffer }>('SELECT cipher FROM workspace_secret');
    return rows[0]?.cipher ?? Buffer.of();
  };

  it('prints settings that role tools logs in with, without the secret or a password', async () => {
    const url = new URL(first.DATABASE_URL);
    expect([url.username, url.password, url.port]).toEqual(['nightshift_tools', '', new URL(server.url).port]);
    expect(JSON.stringify(first)).not.toContain(secrets[0]);
    expect(await login(first)).toMatchObject({ toolsKey: first.NIGHTSHIFT_TOOLS_KEY });
  });

  it('encrypts the secrets of tools again with the new key if the root secret encrypted them', async () => {
    const sealed = rootBox({ kind: 'root', secret: secrets[0], previous: [] }).seal(
      new Secret('a canary value'),
      place,
    );
    await owner.workerPool.query(`INSERT INTO workspace (id, name) VALUES ($1, 'w')`, [row.workspaceId]);
    await owner.workerPool.query(
      `INSERT INTO workspace_secret (workspace_id, id, name, cipher, created_by) VALUES ($1, $2, 'T', $3, 'system')`,
      [row.workspaceId, row.id, sealed],
    );
    const held = { kind: 'tools', toolsKey: first.NIGHTSHIFT_TOOLS_KEY, previous: [] } as const;
    expect(() => toolBox(held).open(sealed, place)).toThrow('cannot be opened');
    expect(await accessWith(secrets[0])).toEqual(first);
    expect(
      toolBox(held)
        .open(await stored(), place)
        .reveal(),
    ).toBe('a canary value');
  });

  it('prints another key after the secret was rotated, and the old key neither logs in nor decrypts', async () => {
    await using cleanUp = new AsyncDisposableStack();
    await rotateSecret(settings(secrets[1], secrets[0]), cleanUp);
    const second = await accessWith(secrets[1]);
    expect(second.NIGHTSHIFT_TOOLS_KEY).not.toBe(first.NIGHTSHIFT_TOOLS_KEY);
    expect(await login(second)).toMatchObject({ toolsKey: second.NIGHTSHIFT_TOOLS_KEY });
    await expect(login(first)).rejects.toThrow('it refuses the login nightshift_tools');
    const boxOf = (toolsKey: string) => toolBox({ kind: 'tools', toolsKey, previous: [] });
    expect(
      boxOf(second.NIGHTSHIFT_TOOLS_KEY)
        .open(await stored(), place)
        .reveal(),
    ).toBe('a canary value');
    const cipher = await stored();
    expect(() => boxOf(first.NIGHTSHIFT_TOOLS_KEY).open(cipher, place)).toThrow('cannot be opened');
  });
});

let dataDir: string;
let config: Config;

beforeEach(() => {
  dataDir = join(mkdtempSync(join(tmpdir(), 'nightshift-rotation-')), 'data');
  config = Config.from({ DATA_DIR: dataDir, BUS: 'memory' });
});
afterEach(() => {
  rmSync(join(dataDir, '..'), { recursive: true, force: true });
});

/** The installation as a process sees it that starts now. */
async function serve<T>(run: (open: { platform: Platform; auth: Auth }) => Promise<T>): Promise<T> {
  await using cleanUp = new AsyncDisposableStack();
  const postgres = await EmbeddedPostgres.start({ dataDir });
  cleanUp.defer(() => postgres.stop());
  await dataDirSecret(dataDir);
  const { secret, previousSecrets } = await heldSecrets(config);
  const urls = databaseUrls(postgres.url, secret);
  await migrate(urls);
  const logger = createLogger({ level: 'silent' });
  const platform = await openPlatform({ config, logger, redactor: new Redactor(), urls, secret, previousSecrets });
  cleanUp.defer(() => platform.close());
  const fetchKeys = () => Promise.reject(new Error('no key set in this test'));
  const auth = openAuth({ ...platform, secret, previousSecrets, fetchKeys });
  cleanUp.defer(() => {
    auth.close();
  });
  return await run({ platform, auth });
}

const rotate = async () => {
  await using cleanUp = new AsyncDisposableStack();
  return await rotateSecret(config, cleanUp);
};

/** One value in every column of sealed values. */
async function plant({ platform, auth }: { platform: Platform; auth: Auth }) {
  const { principal } = await auth.seeder.ensure({ email: 'a@example.org', userName: 'A', workspaceName: 'W' });
  const { workspaceId, userId, id: createdBy } = principal;
  const id = newId();
  const sealed = (column: (typeof sealedColumns.root)[number]) =>
    platform.secretBox.seal(new Secret(`value of ${column.table}`), column.placeOf({ workspaceId, id }));
  const [provider, job, endpoint, previous, earlier, channel, code] = sealedColumns.root;
  const [tool] = sealedColumns.tools;
  const cipher = platform.toolSecretBox.seal(
    new Secret('value of workspace_secret'),
    tool.placeOf({ workspaceId, id }),
  );
  await platform.prisma.withWorkspace(principal, async (tx) => {
    const place = { baseUrl: 'https://m.example', defaultModel: 'm' };
    await tx.modelProvider.create({ data: { workspaceId, id, name: 'p', ...place, keyCipher: sealed(provider) } });
    const work = { kind: 'chat', principal: createdBy, model: 'm', input: {}, createdBy: userId };
    await tx.job.create({ data: { workspaceId, id, ...work, keyCipher: sealed(job) } });
    await tx.workspaceSecret.create({ data: { workspaceId, id, name: 's', cipher, createdBy } });
    const terms = { url: 'https://e.example', description: '', events: [], enabled: true, signature: 'standard' };
    const options = { headers: {}, onlyUnwatched: false, includeContent: false, createdBy };
    const secrets = {
      secretCipher: sealed(endpoint),
      previousCipher: sealed(previous),
      earlierCipher: sealed(earlier),
    };
    await tx.webhookEndpoint.create({ data: { workspaceId, id, ...terms, ...options, ...secrets } });
    const target = { kind: 'webhook', address: 'https://e.example', events: [], enabled: true, includeTitle: false };
    const ciphers = { secretCipher: sealed(channel), codeCipher: sealed(code) };
    const since = { activeSince: new Date(), createdBy };
    await tx.notificationChannel.create({ data: { workspaceId, id, ...target, ...ciphers, ...since } });
  });
  const { text } = await auth.apiKeys.create(principal, { name: 'k', scopes: KEY_SCOPES });
  return { principal, id, key: text };
}

type Planted = Awaited<ReturnType<typeof plant>>;

async function read({ platform }: { platform: Platform }, { principal, id }: Planted) {
  const { workspaceId } = principal;
  const row = { workspaceId, id };
  return platform.prisma.withWorkspace(principal, async (tx) => {
    const where = { workspaceId_id: row };
    const provider = await tx.modelProvider.findUniqueOrThrow({ where });
    const job = await tx.job.findUniqueOrThrow({ where });
    const tool = await tx.workspaceSecret.findUniqueOrThrow({ where });
    const [providerColumn, jobColumn] = sealedColumns.root;
    const opened = [
      platform.secretBox.open(provider.keyCipher ?? new Uint8Array(), providerColumn.placeOf(row)),
      platform.secretBox.open(job.keyCipher ?? new Uint8Array(), jobColumn.placeOf(row)),
      platform.toolSecretBox.open(tool.cipher, sealedColumns.tools[0].placeOf(row)),
    ];
    const outdated = [
      platform.secretBox.isOutdated(provider.keyCipher ?? new Uint8Array()),
      platform.secretBox.isOutdated(job.keyCipher ?? new Uint8Array()),
      platform.toolSecretBox.isOutdated(tool.cipher),
    ];
    return { values: opened.map((secret) => secret.reveal()), outdated };
  });
}

const values = ['value of model_provider', 'value of job', 'value of workspace_secret'];

describe('rotateSecret', () => {
  it('encrypts every stored secret again, keeps API keys valid, and needs the old secret for those only', async () => {
    const planted = await serve(plant);
    const old = readFileSync(join(dataDir, 'secret'), 'utf8');
    expect(await rotate()).toEqual([
      { table: 'model_provider', resealed: 1, unreadable: 0 },
      { table: 'job', resealed: 1, unreadable: 0 },
      { table: 'webhook_endpoint', resealed: 1, unreadable: 0 },
      { table: 'webhook_endpoint', resealed: 1, unreadable: 0 },
      { table: 'webhook_endpoint', resealed: 1, unreadable: 0 },
      { table: 'notification_channel', resealed: 1, unreadable: 0 },
      { table: 'notification_channel', resealed: 1, unreadable: 0 },
      { table: 'workspace_secret', resealed: 1, unreadable: 0 },
    ]);
    expect(readFileSync(join(dataDir, 'secret'), 'utf8')).not.toBe(old);
    expect(readFileSync(join(dataDir, 'previous-secrets'), 'utf8')).toBe(old);
    for (const file of ['secret', 'previous-secrets']) expect(statSync(join(dataDir, file)).mode & 0o777).toBe(0o600);

    const authorization = `Bearer ${planted.key}`;
    await serve(async (open) => {
      expect(await read(open, planted)).toEqual({ values, outdated: [false, false, false] });
      await expect(open.auth.authenticator.authenticate({ authorization })).resolves.toMatchObject({ kind: 'key' });
    });
    // Its use has stored the key under the new secret: the old one can go.
    rmSync(join(dataDir, 'previous-secrets'));
    await serve(async (open) => {
      expect((await read(open, planted)).values).toEqual(values);
      await expect(open.auth.authenticator.authenticate({ authorization })).resolves.toMatchObject({ kind: 'key' });
    });
  });

  it('decrypts data that was stored under the secret before the last one', async () => {
    const planted = await serve(plant);
    await rotate();
    await rotate();
    const authorization = `Bearer ${planted.key}`;
    await serve(async (open) => {
      expect((await read(open, planted)).values).toEqual(values);
      await expect(open.auth.authenticator.authenticate({ authorization })).resolves.toMatchObject({ kind: 'key' });
    });
  });

  it('lists every column of encrypted values', async () => {
    const found = await serve(async ({ platform }) => {
      const { rows } = await platform.postgres.api.query<{ name: string }>(
        `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
          WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name LIKE '%cipher%' ORDER BY 1`,
      );
      return rows.map(({ name }) => name);
    });
    const known = [...sealedColumns.root, ...sealedColumns.tools].map(({ table, column }) => `${table}.${column}`);
    expect(found).toEqual(known.sort());
  });

  it('refuses while Nightshift runs on the data directory', async () => {
    await serve(async () => {
      await expect(rotate()).rejects.toMatchObject({ code: 'already_running' });
    });
  });

  it('refuses a secret of the environment without the previous one', async () => {
    config = Config.from({ DATA_DIR: dataDir, NIGHTSHIFT_SECRET: 'a secret of more than thirty-two characters' });
    await expect(rotate()).rejects.toMatchObject({ code: 'new_secret_needed' });
  });
});
