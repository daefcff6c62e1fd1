import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { ChangesRepository, openBytes, type PushedChange } from './changes.repository.js';

let database: TestDatabase;
let identities: TestIdentities;
let changes: ChangesRepository;
let workspaceId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  ({ workspaceId } = (await identities.workspaceOf('red')).owner);
  changes = new ChangesRepository(database.prisma);
});
afterAll(async () => {
  identities.auth.close();
  await database.close();
});

/** A change whose body Postgres compresses to a small part of its size. */
const changeOf = (documentId: string, length: number): PushedChange => ({
  ...{ type: 'create', collection: 'notes', documentId, timestamp: 1 },
  document: { text: 'x'.repeat(length) },
});

/** Reads page by page, and closes each. Returns the ids of the documents of each page. */
async function readAll(limit: number): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = [];
  for (;;) {
    const page = await database.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const open = await changes.open(tx, workspaceId, limit);
      const ids = open.map(({ id }) => id);
      await changes.close(tx, workspaceId, ids);
      return open;
    });
    if (page.length === 0) return pages;
    pages.push(page.map(({ body }) => body.documentId));
  }
}

const insert = (inserted: readonly PushedChange[]) =>
  database.prisma.withWorkspace({ workspaceId }, (tx) =>
    changes.insert(tx, { workspaceId, database: 'shop' }, inserted),
  );

describe('ChangesRepository', () => {
  it('ends a page of waiting changes with the change that reaches its bytes', async () => {
    const large = ['a', 'b', 'c', 'd', 'e'].map((id) => changeOf(id, openBytes * 0.4));
    await insert([...large, changeOf('f', 2 * openBytes), changeOf('g', 1)]);
    expect(await readAll(100)).toEqual([['a', 'b', 'c'], ['d', 'e', 'f'], ['g']]);
  });

  it('ends a page of small waiting changes at the limit of their number', async () => {
    await insert(['a', 'b', 'c', 'd', 'e'].map((id) => changeOf(id, 1)));
    expect(await readAll(2)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });
});
