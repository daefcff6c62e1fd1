import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { findConnection, tokenOf } from './connection.js';
import { readEnvironment } from './environment.js';

const nothing = readEnvironment({});

describe('findConnection', () => {
  let folder: string;
  let below: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-cli-'));
    below = join(folder, 'some', 'where');
    mkdirSync(below, { recursive: true });
    mkdirSync(join(folder, '.nightshift'));
    writeFileSync(join(folder, '.nightshift', 'demo-api-key'), 'nsk_demo\n');
  });

  afterEach(() => {
    jest.restoreAllMocks();
    rmSync(folder, { recursive: true, force: true });
  });

  const serving = (pid: number, url: string) => {
    writeFileSync(join(folder, '.nightshift', 'serving'), `${pid} ${url}\n`);
  };

  it.each(['http://127.0.0.1:4123', 'http://0.0.0.0:4123', 'http://[::]:4123', 'http://[::1]:4123'])(
    'finds the server and the key of an npm start in this folder or a parent folder: %s',
    async (url) => {
      serving(process.pid, url);
      expect(await findConnection({}, nothing, below)).toMatchObject({ url, token: 'nsk_demo' });
    },
  );

  it('ignores the address of a process that has ended', async () => {
    serving(999_999_999, 'http://127.0.0.1:4123');
    expect(await findConnection({}, nothing, below)).toMatchObject({ url: 'http://127.0.0.1:4000', token: 'nsk_demo' });
  });

  it.each(['https://there.example', 'http://127.0.0.1.there.example', 'http://127.0.0.1@there.example'])(
    'does not follow a folder to %s',
    async (url) => {
      serving(process.pid, url);
      const environment = readEnvironment({ NIGHTSHIFT_TOKEN: 'mine' });
      const expected = { url: 'http://127.0.0.1:4000', urlFrom: 'the default', token: 'mine' };
      expect(await findConnection({}, environment, below)).toMatchObject(expected);
      const inFolder = readEnvironment({ DATA_DIR: join(folder, '.nightshift') });
      expect(await findConnection({}, inFolder, below)).toMatchObject({ url: 'http://127.0.0.1:4000' });
      const asked = await findConnection({ url }, nothing, below);
      expect(asked.token).toBeUndefined();
    },
  );

  it('ignores a data directory that another user created', async () => {
    serving(process.pid, 'http://127.0.0.1:4123');
    jest.spyOn(process, 'getuid').mockReturnValue(statSync(folder).uid + 1);
    expect(await findConnection({}, nothing, below)).toMatchObject({ url: 'http://127.0.0.1:4000', token: undefined });
  });

  it('prefers flags to the environment, and the environment to the folder', async () => {
    serving(process.pid, 'http://127.0.0.1:4123');
    const environment = readEnvironment({ NIGHTSHIFT_URL: 'http://127.0.0.1:1/', NIGHTSHIFT_TOKEN: 'two' });
    expect(await findConnection({}, environment, below)).toMatchObject({ url: 'http://127.0.0.1:1', token: 'two' });
    const flags = { url: 'https://there.example/base/', token: 'one' };
    expect(await findConnection(flags, environment, below)).toMatchObject({
      url: 'https://there.example/base',
      token: 'one',
    });
  });

  it('prefers a token to a key, and reports the source', async () => {
    const found = (variables: object) => findConnection({}, readEnvironment({ ...variables }), below);
    expect(await found({ NIGHTSHIFT_KEY: 'k' })).toMatchObject({ token: 'k', tokenFrom: 'NIGHTSHIFT_KEY' });
    expect(await found({ NIGHTSHIFT_KEY: 'k', NIGHTSHIFT_TOKEN: 't' })).toMatchObject({
      ...{ token: 't', tokenFrom: 'NIGHTSHIFT_TOKEN' },
    });
  });

  it('sends the demo key to no other machine', async () => {
    const found = await findConnection({ url: 'https://there.example' }, nothing, below);
    expect(found.token).toBeUndefined();
    expect(() => tokenOf(found)).toThrow(expect.objectContaining({ exitCode: 3 }));
  });

  it.each(['there', 'ftp://there.example', ''])('refuses "%s" as a URL', async (url) => {
    await expect(findConnection({ url }, nothing, below)).rejects.toMatchObject({ exitCode: 2 });
  });
});
