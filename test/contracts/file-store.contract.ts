import { createHash, randomBytes } from 'node:crypto';

import { beforeEach, expect, it } from '@jest/globals';

import { newId } from '#platform';

import type { FilePlace, FileStore } from '../../libs/files/src/store/file-store.js';

/** A store, and two workspaces that it may be asked for. */
export interface FileStoreSubject {
  readonly store: FileStore;
  readonly workspaces: readonly [string, string];
}

/** The promises of `FileStore`, for every adapter. */
export function fileStoreContract(open: () => FileStoreSubject): void {
  let store: FileStore;
  let place: FilePlace;
  let otherWorkspace: string;
  const content = randomBytes(1_200_000);
  const hash = createHash('sha256').update(content).digest('hex');

  beforeEach(() => {
    const subject = open();
    store = subject.store;
    place = { workspaceId: subject.workspaces[0], id: newId() };
    otherWorkspace = subject.workspaces[1];
  });

  it('reads the whole content that was put', async () => {
    await store.put(place, { content, hash });
    const read = await store.read(place, { start: 0, end: content.length });
    expect(createHash('sha256').update(read).digest('hex')).toBe(hash);
  });

  it.each([
    [0, 1],
    [524_287, 524_289],
    [524_288, 1_048_576],
    [1_199_999, 1_200_000],
  ])('reads the bytes from %d to %d', async (start, end) => {
    await store.put(place, { content, hash });
    expect(Buffer.from(await store.read(place, { start, end }))).toEqual(content.subarray(start, end));
  });

  it('finds a content that was put and not deleted, in its own workspace only', async () => {
    expect(await store.has(place)).toBe(false);
    await store.put(place, { content, hash });
    expect(await store.has(place)).toBe(true);
    expect(await store.has({ ...place, workspaceId: otherWorkspace })).toBe(false);
    await store.delete(place);
    expect(await store.has(place)).toBe(false);
  });

  it('rejects with not_found for a content that is absent, deleted, or of another workspace', async () => {
    const range = { start: 0, end: 10 };
    await expect(store.read(place, range)).rejects.toMatchObject({ code: 'not_found' });
    await store.put(place, { content, hash });
    await expect(store.read({ ...place, workspaceId: otherWorkspace }, range)).rejects.toMatchObject({
      code: 'not_found',
    });
    await store.delete({ ...place, workspaceId: otherWorkspace });
    expect(await store.read(place, range)).toHaveLength(10);
    await store.delete(place);
    await expect(store.read(place, range)).rejects.toMatchObject({ code: 'not_found' });
    await store.delete(place);
  });
}
