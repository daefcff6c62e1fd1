import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { NightshiftProcess } from '../harness/processes.js';
import { s3Key, type S3Server, startS3Server } from '../harness/s3-server.js';
import { Stage } from './stage.js';

let stage: Stage;
let bucket: S3Server;
let key: string;
let settings: Readonly<Record<string, string>>;

beforeAll(async () => {
  [stage, bucket] = await Promise.all([Stage.open(), startS3Server()]);
  key = await stage.createKey();
  const { accessKeyId, secretAccessKey, region } = s3Key;
  settings = {
    ...{ S3_BUCKET_URL: bucket.url, S3_REGION: region },
    ...{ S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey },
  };
});
afterAll(async () => {
  await stage.close();
  await bucket.close();
});

const call = (api: NightshiftProcess, path: string, body?: string) =>
  fetch(new URL(path, api.url ?? ''), {
    ...(body === undefined ? {} : { method: 'POST', body }),
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'text/plain' }) },
  });

it('an upload whose process is killed before the row is stored leaves no file, and succeeds at another process', async () => {
  const api = await stage.startApi({ ...settings, CRASH_POINT: 'before-file-row:kill' });
  await expect(call(api, '/api/files', 'important')).rejects.toThrow();
  const other = await stage.startApi(settings);
  const rows = () => stage.database.prisma.withWorkspace(stage.owner, (tx) => tx.storedFile.count());
  expect([bucket.objects.size, await rows()]).toEqual([1, 0]);
  const uploaded = await call(other, '/api/files', 'important');
  expect(uploaded.ok).toBe(true);
  const { hash } = (await uploaded.json()) as { readonly hash: string };
  expect(await (await call(other, `/api/files/${hash}`)).text()).toBe('important');
  expect(await rows()).toBe(1);
});
