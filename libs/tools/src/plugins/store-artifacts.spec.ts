import { createHash } from 'node:crypto';

import { describe, expect, it, jest } from '@jest/globals';
import type { NewFile, WorkspaceFiles } from '@nightshift/plugin';

import type { Files } from '#files';
import { AppError, type Config } from '#platform';

import { storeArtifacts } from './store-artifacts.js';
import { ToolFiles } from './tool-files.js';

const put = jest.fn<WorkspaceFiles['put']>(({ name, mime, data }) =>
  Promise.resolve({ hash: `hash of ${name}`, mime, name: 'first name', bytes: data.length }),
);
const files: WorkspaceFiles = { put, get: () => Promise.reject(new Error('not needed')) };
const { signal } = new AbortController();
const artifact = (name: string): NewFile => ({ name, mime: 'text/plain', data: 'text' });

describe('storeArtifacts', () => {
  it('replaces the data of each artifact by its hash and size, and keeps its name', async () => {
    const result = { content: { rows: 2 }, artifacts: [artifact('a.txt'), artifact('b.txt')] };
    expect(await storeArtifacts(result, files, signal)).toEqual({
      content: { rows: 2 },
      artifacts: [
        { name: 'a.txt', mime: 'text/plain', hash: 'hash of a.txt', bytes: 4 },
        { name: 'b.txt', mime: 'text/plain', hash: 'hash of b.txt', bytes: 4 },
      ],
    });
  });

  it.each([
    'text',
    null,
    ['artifacts'],
    { artifacts: [artifact('a')] },
    { content: 1, artifacts: 'none' },
    { content: 1, artifacts: ['a.txt'] },
    { content: 1, artifacts: [{ name: 'a.txt', mime: 'text/plain' }] },
    { content: 1, artifacts: [artifact('a')], more: true },
  ])('returns the result %j as it is', async (result) => {
    expect(await storeArtifacts(result, files, signal)).toBe(result);
  });

  it('keeps the result when an artifact is refused, and stores at most 20 of them', async () => {
    put.mockRejectedValueOnce(new AppError({ code: 'too_large', message: 'Too large' }));
    const artifacts = Array.from({ length: 21 }, (_, index) => artifact(`${index}.txt`));
    const stored = (await storeArtifacts({ content: 'done', artifacts }, files, signal)) as {
      readonly content: string;
      readonly artifacts: readonly object[];
    };
    expect(stored.content).toBe('done');
    expect(stored.artifacts[0]).toEqual({
      ...{ name: '0.txt', mime: 'text/plain' },
      error: { code: 'too_large', message: 'Too large' },
    });
    expect(stored.artifacts[19]).toMatchObject({ hash: 'hash of 19.txt' });
    expect(stored.artifacts[20]).toMatchObject({ error: { message: 'A result can have at most 20 artifacts' } });
  });

  it('rejects when the call is aborted', async () => {
    const aborted = AbortSignal.abort(new Error('stopped'));
    await expect(storeArtifacts({ content: 1, artifacts: [artifact('a')] }, files, aborted)).rejects.toThrow('stopped');
  });
});

describe('ToolFiles', () => {
  const file = { hash: '0'.repeat(64), mime: 'text/plain', name: 'a.txt', bytes: 4 };
  const assertStorable = (mime: string) => {
    if (mime !== 'text/plain') throw new AppError({ code: 'unsupported_media_type', message: 'not allowed' });
  };
  const of = (ROLE: string, store = 's3') => {
    const named = () => Promise.resolve({ ...file, workspaceId: 'w', id: 'f', store });
    return new ToolFiles({ named, assertStorable } as Partial<Files> as Files, { values: { ROLE } } as Config); // no other is called
  };
  const filesOf = (role: string) => of(role).of({ workspaceId: 'w', userId: null });

  it('rejects writes, and reads of files in a bucket, with files_unavailable in a process of role tools', async () => {
    await expect(filesOf('tools').get(file.hash)).rejects.toMatchObject({ code: 'files_unavailable' });
    await expect(filesOf('tools').put(artifact('a.txt'))).rejects.toMatchObject({ code: 'files_unavailable' });
  });

  it('collects the artifacts of a call, up to 4 MiB, in a process of role tools only', async () => {
    expect(of('worker').outbox()).toBeNull();
    const outbox = of('tools').outbox();
    const large = { ...artifact('b.txt'), data: new Uint8Array(4_194_304 - 4) };
    const artifacts = [artifact('a.txt'), large, artifact('c.txt'), { ...artifact('d.html'), mime: 'text/html' }];
    const stored = await storeArtifacts({ content: 1, artifacts }, outbox ?? files, signal);
    expect(stored).toEqual({
      content: 1,
      artifacts: [
        { name: 'a.txt', mime: 'text/plain', bytes: 4, hash: createHash('sha256').update('text').digest('hex') },
        { name: 'b.txt', mime: 'text/plain', bytes: 4_194_300, hash: expect.any(String) },
        {
          name: 'c.txt',
          mime: 'text/plain',
          error: { code: 'too_large', message: expect.stringContaining('4194304') },
        },
        { name: 'd.html', mime: 'text/html', error: { code: 'unsupported_media_type', message: 'not allowed' } },
      ],
    });
    expect(outbox?.files.map(({ name }) => name)).toEqual(['a.txt', 'b.txt']);
    expect(outbox?.files[0]).toEqual({ name: 'a.txt', mime: 'text/plain', data: btoa('text') });
  });

  it.each([
    [{ ...artifact('a/..') }, 'name must be'],
    [{ ...artifact('a'), mime: undefined }, 'mime must be'],
    [{ ...artifact('a'), data: [1, 2] }, 'data must be'],
  ])('refuses a file with an invalid field: %j', async (file, problem) => {
    await expect(filesOf('worker').put(file as NewFile)).rejects.toMatchObject({
      ...{ code: 'bad_request', message: expect.stringContaining(problem) },
    });
  });
});
