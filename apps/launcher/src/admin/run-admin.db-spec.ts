import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { toolSecrets } from '#integrations';
import { Config, EmbeddedPostgres, newId, Postgres, rootBox, Secret, toolBox } from '#platform';

import { openToolInstallation } from '../start.js';
import { rotateSecret } from './rotate-secret.js';
import { type ToolsAccess, toolsAccess } from './run-admin.js';

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
    owner = Postgres.connect({ api: server.url, engine: server.url }, { poolSize: 1 });
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
    const { rows } = await owner.engine.query<{ cipher: Buffer }>('SELECT cipher FROM workspace_secret');
    return rows[0]?.cipher ?? Buffer.of();
  };

  it('prints settings that role tools logs in with, without the secret or a password', async () => {
    const url = new URL(first.DATABASE_URL);
    expect([url.username, url.password, url.port]).toEqual(['nightshift_tools', '', new URL(server.url).port]);
    expect(JSON.stringify(first)).not.toContain(secrets[0]);
    expect(await login(first)).toMatchObject({ toolsKey: first.NIGHTSHIFT_TOOLS_KEY });
  });

  it('seals secrets of tools with the key that were sealed with the root secret', async () => {
    const sealed = rootBox({ kind: 'root', secret: secrets[0], previous: [] }).seal(
      new Secret('a canary value'),
      place,
    );
    await owner.engine.query(`INSERT INTO workspace (id, name) VALUES ($1, 'w')`, [row.workspaceId]);
    await owner.engine.query(
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

  it('prints another key after the secret was rotated, and the old key neither logs in nor opens', async () => {
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
