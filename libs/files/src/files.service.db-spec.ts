import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal } from '#auth';
import { Config, Redactor } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../test/harness/identities.js';
import { s3Key, type S3Server, startS3Server } from '../../../test/harness/s3-server.js';
import { FilesRepository } from './files.repository.js';
import { Files } from './files.service.js';
import { FileStores } from './store/file-stores.js';
import { PostgresFileStore } from './store/postgres-file-store.repository.js';

let database: TestDatabase;
let identities: TestIdentities;
let bucket: S3Server;
let stores: FileStores;
let files: Files;
let member: MemberPrincipal;

beforeAll(async () => {
  [database, bucket] = await Promise.all([createTestDatabase(), startS3Server()]);
  identities = openTestIdentities(database);
  ({ member } = await identities.workspaceOf('red'));
  const { accessKeyId, secretAccessKey, region } = s3Key;
  const keys = { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey, S3_REGION: region };
  const config = Config.from({ NODE_ENV: 'test', S3_BUCKET_URL: bucket.url, ...keys });
  const postgres = new PostgresFileStore(database.prisma);
  stores = new FileStores(postgres, config, new Redactor());
  files = new Files(new FilesRepository(database.prisma), stores, postgres, config);
});
afterAll(async () => {
  identities.auth.close();
  await Promise.all([database.close(), bucket.close(), stores.onModuleDestroy()]);
});

const save = (text: string) => {
  const { workspaceId, userId: createdBy } = member;
  return files.save({ workspaceId, createdBy, content: Buffer.from(text), mime: 'text/plain', name: null });
};

describe('Files', () => {
  it('removes neither row nor object while the bucket does not respond', async () => {
    const { hash } = await save('removed by a person');
    bucket.failWith = 500;
    await expect(files.remove(member, hash)).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    bucket.failWith = null;
    await files.remove(member, hash);
    expect(bucket.objects.size).toBe(0);
    await expect(files.get(member, hash)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('removes an expired object in a later pass if the bucket does not respond', async () => {
    const { hash } = await save('removed by the retention');
    await database.prisma.withWorkspace(member, (tx) =>
      tx.storedFile.updateMany({ where: { hash }, data: { keptUntil: new Date(0) } }),
    );
    bucket.failWith = 500;
    await files.forget(member.workspaceId);
    expect(bucket.objects.size).toBe(1);
    bucket.failWith = null;
    await files.forget(member.workspaceId);
    expect(bucket.objects.size).toBe(0);
    await expect(files.get(member, hash)).rejects.toMatchObject({ code: 'not_found' });
  });
});
