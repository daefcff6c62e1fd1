import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { GuardedFetch, newId, Secret } from '#platform';

import { fileStoreContract } from '../../../../test/contracts/file-store.contract.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { s3Key, type S3Server, startS3Server } from '../../../../test/harness/s3-server.js';
import { PostgresFileStore } from './postgres-file-store.repository.js';
import { S3FileStore } from './s3-file-store.js';

let database: TestDatabase;
let identities: TestIdentities;
let server: S3Server;
const client = new GuardedFetch({ allowPrivate: true });
const workspaces: [string, string] = ['', ''];

beforeAll(async () => {
  [database, server] = await Promise.all([createTestDatabase(), startS3Server()]);
  identities = openTestIdentities(database);
  workspaces[0] = (await identities.workspaceOf('red')).owner.workspaceId;
  workspaces[1] = (await identities.workspaceOf('blue')).owner.workspaceId;
});
afterAll(async () => {
  identities.auth.close();
  await Promise.all([database.close(), server.close(), client.close()]);
});

function bucket(secret = s3Key.secretAccessKey): S3FileStore {
  const { accessKeyId, region } = s3Key;
  return new S3FileStore({ url: server.url, region, accessKeyId, secretAccessKey: new Secret(secret) }, client);
}

const content = {
  content: Buffer.from('hello'),
  hash: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
};
const place = () => ({ workspaceId: workspaces[0], id: newId() });

describe('PostgresFileStore', () => {
  fileStoreContract(() => ({ store: new PostgresFileStore(database.prisma), workspaces }));

  it('deletes contents that neither a file nor a removal names one hour after their upload', async () => {
    const store = new PostgresFileStore(database.prisma);
    const [abandoned, announced] = [place(), place()];
    const { workspaceId } = announced;
    await store.put(abandoned, content);
    await store.put(announced, content);
    await database.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.contentRemoval.create({ data: { workspaceId, fileId: announced.id, store: 'postgres' } }),
    );
    const range = { start: 0, end: 5 };
    await store.deleteAbandoned(workspaceId, Date.now() + 3_500_000);
    expect(await store.read(abandoned, range)).toHaveLength(5);
    await store.deleteAbandoned(workspaceId, Date.now() + 3_700_000);
    await expect(store.read(abandoned, range)).rejects.toMatchObject({ code: 'not_found' });
    expect(await store.read(announced, range)).toHaveLength(5);
  });
});

describe('S3FileStore', () => {
  fileStoreContract(() => ({ store: bucket(), workspaces }));

  it('signs every request so that the server verifies it', () => {
    expect(server.refusals).toEqual([]);
    expect([...server.objects.keys()].every((key) => key.startsWith('/bucket/'))).toBe(true);
  });

  it('does not find an absent content with a key that may not list the bucket', async () => {
    server.mayList = false;
    const [absent, stored] = [place(), place()];
    await bucket().put(stored, content);
    expect([await bucket().has(absent), await bucket().has(stored)]).toEqual([false, true]);
    server.mayList = true;
  });

  it('rejects with unavailable for a wrong key, a failing server and a server that does not respond', async () => {
    const unavailable = { code: 'unavailable', retryable: true };
    await expect(bucket('another secret').put(place(), content)).rejects.toMatchObject(unavailable);
    server.failWith = 500;
    await expect(bucket().put(place(), content)).rejects.toMatchObject(unavailable);
    await expect(bucket().read(place(), { start: 0, end: 5 })).rejects.toMatchObject(unavailable);
    await expect(bucket().has(place())).rejects.toMatchObject(unavailable);
    await expect(bucket().delete(place())).rejects.toMatchObject(unavailable);
    server.failWith = null;
    const away = { url: 'http://127.0.0.1:9/b', ...s3Key, secretAccessKey: new Secret('x') };
    await expect(new S3FileStore(away, client).put(place(), content)).rejects.toMatchObject(unavailable);
  });
});
