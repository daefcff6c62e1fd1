import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';

import type { MemberPrincipal } from '#auth';
import { armCrashPoint, Config, ManualClock, newId, Redactor } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../test/harness/identities.js';
import { s3Key, type S3Server, startS3Server } from '../../../test/harness/s3-server.js';
import { FilesRepository } from './files.repository.js';
import { Files } from './files.service.js';
import { storeUnavailable } from './store/file-store.errors.js';
import { FileStores } from './store/file-stores.js';
import { PostgresFileStore } from './store/postgres-file-store.repository.js';
import { S3FileStore } from './store/s3-file-store.js';

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

const textOf = async (hash: string) => Buffer.from(await files.read(await files.get(member, hash))).toString();
const has = (hash: string) =>
  files.get(member, hash).then(
    () => true,
    () => false,
  );
/** Lets the retention time of a file pass. */
const expire = (hash: string) =>
  database.prisma.withWorkspace(member, (tx) =>
    tx.storedFile.updateMany({ where: { hash }, data: { keptUntil: new Date(0) } }),
  );
/** Lets the time pass in which an upload can store the row of its file. */
const abandonUploads = () =>
  database.prisma.withWorkspace(member, (tx) => tx.contentRemoval.updateMany({ data: { dueAt: new Date(0) } }));
/** A store that did not respond gets deletions again ten minutes later, and the failed ones an hour later. */
const waitForStore = async () => {
  await abandonUploads();
  const clock = new ManualClock();
  clock.advance(600_001);
  files.clock = clock;
};

describe('Files', () => {
  it('removes a file while the bucket does not respond, and its object later', async () => {
    const { hash } = await save('removed by a person');
    bucket.failWith = 500;
    await files.remove(member, hash);
    bucket.failWith = null;
    expect([await has(hash), bucket.objects.size]).toEqual([false, 1]);
    await waitForStore();
    await files.deleteExpired(member.workspaceId);
    expect(bucket.objects.size).toBe(0);
  });

  it('finds a stored content without reading it', async () => {
    const read = jest.spyOn(S3FileStore.prototype, 'read');
    const [first, second] = [await save('stored twice'), await save('stored twice')];
    expect([second.id, read.mock.calls]).toEqual([first.id, []]);
    read.mockRestore();
    await files.remove(member, first.hash);
  });

  it.each([
    ['with', true],
    ['without', false],
  ])('stores the content of a file again if its object is lost, for a key %s s3:ListBucket', async (_with, mayList) => {
    bucket.mayList = mayList;
    const first = await save('lost in the bucket');
    const lost = await files.get(member, first.hash);
    await stores.of(lost.store).delete(lost);
    const second = await save('lost in the bucket');
    expect(second).toMatchObject({ hash: first.hash, createdBy: member.userId, createdAt: lost.createdAt });
    expect(await textOf(second.hash)).toBe('lost in the bucket');
    expect((await save('lost in the bucket')).id).toBe(second.id);
    bucket.mayList = true;
    await files.remove(member, second.hash);
    await files.deleteExpired(member.workspaceId);
    expect(bucket.objects.size).toBe(0);
  });

  it('keeps replaced content for some time, because a job may still be reading it', async () => {
    const first = await save('shown as absent');
    const replaced = await files.get(member, first.hash);
    const absent = jest.spyOn(S3FileStore.prototype, 'has').mockResolvedValueOnce(false);
    const second = await save('shown as absent');
    absent.mockRestore();
    await files.deleteExpired(member.workspaceId);
    expect(second.id).not.toBe(first.id);
    expect((await files.read(replaced)).length).toBe(replaced.bytes);
    await database.prisma.withWorkspace(member, (tx) =>
      tx.contentRemoval.updateMany({ data: { dueAt: new Date(Date.now() - 1_000) } }),
    );
    await files.deleteExpired(member.workspaceId);
    await expect(files.read(replaced)).rejects.toMatchObject({ code: 'not_found' });
    await files.remove(member, second.hash);
    await files.deleteExpired(member.workspaceId);
  });

  it('rejects an upload of a known content while the bucket does not respond, and keeps the file', async () => {
    const { id, hash } = await save('uploaded twice');
    bucket.failWith = 500;
    await expect(save('uploaded twice')).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    bucket.failWith = null;
    expect([(await save('uploaded twice')).id, await textOf(hash)]).toEqual([id, 'uploaded twice']);
    await files.remove(member, hash);
  });

  /** One row of each kind that keeps a file. */
  const refer = (inMessage: string, inSchedule: string, inRun: string) =>
    database.prisma.withWorkspace(member, async (tx) => {
      const { workspaceId, userId } = member;
      const [threadId, triggerId] = [newId(), newId()];
      const content = [{ type: 'file', file: { file_id: inMessage } }];
      await tx.thread.create({ data: { workspaceId, id: threadId, createdBy: userId } });
      await tx.message.create({ data: { workspaceId, id: newId(), threadId, position: 1, role: 'user', content } });
      const saved = { createdBy: member.id, savedBy: member.id, enabled: false };
      const slots = { cron: '0 9 * * *', timeZone: 'UTC', missed: 'skip', prompt: '' };
      const chat = { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: inSchedule } }] }] };
      await tx.schedule.create({ data: { workspaceId, id: newId(), chat, ...slots, ...saved } });
      const names = { database: 'd', triggerId: 't', origin: 'api', savedBy: member.id };
      await tx.trigger.create({ data: { workspaceId, id: triggerId, definition: {}, ...names } });
      const event = { body: { attachment: inRun } };
      await tx.triggerRun.create({ data: { workspaceId, id: newId(), triggerId, key: 'k', event, tryAt: new Date() } });
    });
  it('sends no request for ten minutes to a bucket that did not respond, then deletes the objects of removed files', async () => {
    const clock = new ManualClock();
    files.clock = clock;
    const { hash } = await save('removed by the retention');
    const { hash: other } = await save('also removed by the retention');
    await Promise.all([expire(hash), expire(other)]);
    bucket.failWith = 500;
    const { requests } = bucket;
    expect(await files.deleteExpired(member.workspaceId)).toBe(2);
    expect(await files.deleteExpired(member.workspaceId)).toBe(0);
    expect(bucket.requests - requests).toBe(1);
    bucket.failWith = null;
    expect([bucket.objects.size, await has(hash), await has(other)]).toEqual([2, false, false]);
    clock.advance(600_001);
    await files.deleteExpired(member.workspaceId);
    expect(bucket.objects.size).toBe(1);
    await abandonUploads();
    await files.deleteExpired(member.workspaceId);
    expect(bucket.objects.size).toBe(0);
  });

  it('deletes an object although the bucket never deletes an older one', async () => {
    const clock = new ManualClock();
    files.clock = clock;
    const locked = await files.get(member, (await save('locked')).hash);
    await files.remove(member, locked.hash);
    const other = await save('not locked');
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its store
    const real = S3FileStore.prototype.delete;
    const deletion = jest.spyOn(S3FileStore.prototype, 'delete').mockImplementation(function (this: S3FileStore, to) {
      return to.id === locked.id ? Promise.reject(storeUnavailable()) : real.call(this, to);
    });
    await files.deleteExpired(member.workspaceId);
    clock.advance(600_001);
    await files.remove(member, other.hash);
    await files.deleteExpired(member.workspaceId);
    expect(bucket.objects.has(`${member.workspaceId}/${other.id}`)).toBe(false);
    deletion.mockRestore();
    await abandonUploads();
    clock.advance(600_001);
    await files.deleteExpired(member.workspaceId);
    expect(bucket.objects.size).toBe(0);
  });

  it.each([
    ['in the middle of the upload', 'in-body'],
    ['before the response', 'before-response'],
  ] as const)(
    'stores no row if the connection to the bucket breaks %s, and the file at the next attempt',
    async (_when, moment) => {
      const text = 'interrupted '.repeat(100_000);
      bucket.breakNextPut = moment;
      await expect(save(text)).rejects.toMatchObject({ code: 'unavailable', retryable: true });
      expect([(await files.list(member, { first: 10 })).items, bucket.breakNextPut]).toEqual([[], null]);
      const { hash } = await save(text);
      expect((await textOf(hash)) === text).toBe(true);
      await abandonUploads();
      await files.deleteExpired(member.workspaceId);
      expect([bucket.objects.size, await has(hash)]).toEqual([1, true]);
      await files.remove(member, hash);
    },
  );

  it('stores no row if its process ends after the upload to the bucket, and the file at the next attempt', async () => {
    armCrashPoint(Config.from({ NODE_ENV: 'test', CRASH_POINT: 'before-file-row:throw' }));
    await expect(save('its process ends')).rejects.toThrow('before-file-row');
    expect([(await files.list(member, { first: 10 })).items, bucket.objects.size]).toEqual([[], 1]);
    const { hash } = await save('its process ends');
    await files.deleteExpired(member.workspaceId);
    expect(bucket.objects.size).toBe(2);
    await abandonUploads();
    await files.deleteExpired(member.workspaceId);
    expect([bucket.objects.size, await textOf(hash)]).toEqual([1, 'its process ends']);
    await files.remove(member, hash);
  });

  it('writes the content again if the retention deletes it before the row is stored', async () => {
    bucket.afterPut = async () => {
      bucket.afterPut = null;
      await abandonUploads();
      await files.deleteExpired(member.workspaceId);
    };
    const { hash } = await save('very slow');
    expect([bucket.objects.size, await textOf(hash)]).toEqual([1, 'very slow']);
    await files.remove(member, hash);
  });

  it('keeps a file that is uploaded again while the retention deletes the object of its earlier upload', async () => {
    const { hash } = await save('uploaded during its removal');
    await expire(hash);
    bucket.beforeDelete = async () => {
      bucket.beforeDelete = null;
      await save('uploaded during its removal');
    };
    await files.deleteExpired(member.workspaceId);
    expect(await textOf(hash)).toBe('uploaded during its removal');
    expect(bucket.objects.size).toBe(1);
    await files.remove(member, hash);
  });

  it('keeps a file that is used before the retention removes it', async () => {
    const { hash } = await save('used again');
    await expire(hash);
    await files.use(member.workspaceId, [hash]);
    await files.deleteExpired(member.workspaceId);
    expect(await textOf(hash)).toBe('used again');
    await files.remove(member, hash);
  });

  it('deletes the object of a removed file in the next pass, and keeps a new upload, if the process of the removal ends', async () => {
    const { hash } = await save('its process ends');
    await expire(hash);
    const deletion = jest.spyOn(S3FileStore.prototype, 'delete').mockRejectedValue(new Error('the process ends here'));
    await expect(files.deleteExpired(member.workspaceId)).rejects.toThrow('the process ends here');
    deletion.mockRestore();
    await save('its process ends');
    expect(bucket.objects.size).toBe(2);
    await files.deleteExpired(member.workspaceId);
    expect([bucket.objects.size, await textOf(hash)]).toEqual([1, 'its process ends']);
    await files.remove(member, hash);
  });

  it('deletes the other contents when the content of one removed file cannot be deleted', async () => {
    const { hash } = await save('cannot be deleted');
    const { hash: other } = await save('can be deleted');
    await Promise.all([expire(hash), expire(other)]);
    const deletion = jest.spyOn(S3FileStore.prototype, 'delete').mockRejectedValueOnce(new Error('no XML'));
    await expect(files.deleteExpired(member.workspaceId)).rejects.toThrow('no XML');
    deletion.mockRestore();
    expect([bucket.objects.size, await has(hash), await has(other)]).toEqual([1, false, false]);
    await files.deleteExpired(member.workspaceId);
    expect(bucket.objects.size).toBe(0);
  });

  it('keeps files that messages, schedules and due trigger runs refer to for another retention time', async () => {
    const hashes: string[] = [];
    for (const name of ['message', 'schedule', 'trigger run', 'nothing'])
      hashes.push((await save(`used by ${name}`)).hash);
    const [inMessage = '', inSchedule = '', inRun = '', inNothing = ''] = hashes;
    await refer(inMessage, inSchedule, inRun);
    await Promise.all(hashes.map(expire));
    expect(await files.deleteExpired(member.workspaceId)).toBe(4);
    expect(await Promise.all(hashes.map(has))).toEqual([true, true, true, false]);
    const least = Date.now() + Config.from({ NODE_ENV: 'test' }).values.FILE_RETENTION_MS - 600_000;
    const kept = await database.prisma.withWorkspace(member, (tx) =>
      tx.storedFile.count({ where: { hash: { in: hashes }, keptUntil: { gt: new Date(least) } } }),
    );
    expect([kept, await has(inNothing)]).toEqual([3, false]);
  });

  it('finds the files of unfinished jobs and due trigger runs by their computed hashes, without reading inputs', async () => {
    const [inJob, inRun, unread] = [
      await save('used by a job'),
      await save('used by a run'),
      await save('not computed'),
    ];
    const { workspaceId } = member;
    const triggerId = newId();
    await database.prisma.withWorkspace(member, async (tx) => {
      // Not among the computed hashes on purpose: it would be found if the input was read.
      const input = { attachment: unread.hash };
      const job = { workspaceId, id: newId(), kind: 'chat', principal: 'user:x', model: '' };
      await tx.job.create({ data: { ...job, input, fileHashes: [inJob.hash] } });
      const names = { database: 'd', triggerId: 'computed', origin: 'api', savedBy: member.id };
      await tx.trigger.create({ data: { workspaceId, id: triggerId, definition: {}, ...names } });
      const run = { workspaceId, id: newId(), triggerId, key: 'k', event: input, tryAt: new Date() };
      await tx.triggerRun.create({ data: { ...run, fileHashes: [inRun.hash] } });
    });
    await Promise.all([inJob, inRun, unread].map(({ hash }) => expire(hash)));
    await files.deleteExpired(workspaceId);
    expect(await Promise.all([inJob, inRun, unread].map(({ hash }) => has(hash)))).toEqual([true, true, false]);
  });

  it('finds messages that refer to a file with the index of references', async () => {
    const scans = await database.prisma.withWorkspace(member, async (tx) => {
      const count = () =>
        tx.$queryRaw<{ n: number }[]>`SELECT pg_stat_get_xact_numscans('message_files'::regclass)::int AS n`;
      const [before] = await count();
      await tx.$queryRaw`SELECT * FROM files_in_messages(ARRAY[repeat('0', 64), repeat('1', 64)])`;
      const [after] = await count();
      return (after?.n ?? 0) - (before?.n ?? 0);
    });
    expect(scans).toBe(2);
  });
});
