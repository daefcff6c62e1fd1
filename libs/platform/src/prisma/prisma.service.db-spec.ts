import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { newId } from '../ids.js';
import { Postgres } from '../postgres/postgres.js';
import { PrismaService } from './prisma.service.js';

const [first, second] = [newId(), newId()];
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 1 }); // one connection: a setting that outlives its transaction would show
  const owner = new pg.Client({ connectionString: database.urls.owner });
  await owner.connect();
  await owner.query("INSERT INTO workspace (id, name) VALUES ($1, 'first'), ($2, 'second')", [first, second]);
  await owner.end();
});

afterAll(() => database.close());

const nameOf = async (workspaceId: string) =>
  database.prisma.withWorkspace({ workspaceId }, (tx) => tx.workspace.findMany({ select: { name: true } }));

describe('PrismaService.withWorkspace', () => {
  it('shows only the rows of its workspace, and none after it ends', async () => {
    expect(await nameOf(first)).toEqual([{ name: 'first' }]);
    expect(await nameOf(second)).toEqual([{ name: 'second' }]);
    expect(await database.prisma.outsideWorkspaces((client) => client.workspace.count())).toBe(0);
  });

  it('rolls back when its function rejects', async () => {
    const failing = database.prisma.withWorkspace({ workspaceId: first }, async (tx) => {
      await tx.workspace.updateMany({ data: { name: 'changed' } });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await nameOf(first)).toEqual([{ name: 'first' }]);
  });

  it('prepares a repeated statement once per connection', async () => {
    for (let i = 0; i < 4; i++) await nameOf(first);
    const prepared = await database.prisma.outsideWorkspaces(
      (client) => client.$queryRaw<{ text: string }[]>`
        SELECT statement AS text FROM pg_prepared_statements WHERE name LIKE 'prisma-%' AND statement LIKE '%"workspace"%'`,
    );
    expect(prepared.filter(({ text }) => text.includes('"name"'))).toHaveLength(1);
  });
});

it('PrismaService.asWorker reads rows of every workspace as the login of the workers', async () => {
  const names = await database.prisma.asWorker((client) => client.workspace.findMany({ select: { id: true } }));
  expect(names.map(({ id }) => id).sort()).toEqual([first, second].sort());
  const [row] = await database.prisma.asWorker(
    (client) => client.$queryRaw<{ login: string }[]>`SELECT current_user::text AS login`,
  );
  expect(row?.login).toBe('nightshift_engine');
});

it('PrismaService rejects with unavailable, as retryable, while no server answers', async () => {
  const nowhere = 'postgres://anyone:x@127.0.0.1:1/none';
  const postgres = Postgres.connect({ ...database.urls, api: nowhere, worker: nowhere }, { poolSize: 1 });
  const prisma = new PrismaService(postgres);
  const unavailable = { code: 'unavailable', retryable: true };
  await expect(prisma.withWorkspace({ workspaceId: first }, (tx) => tx.job.count())).rejects.toMatchObject(unavailable);
  await expect(prisma.outsideWorkspaces((client) => client.job.count())).rejects.toMatchObject(unavailable);
  await expect(prisma.asWorker((client) => client.job.count())).rejects.toMatchObject(unavailable);
  await prisma.close();
  await postgres.close();
});

it('PrismaService runs statements after a close, while the pools are open', async () => {
  const postgres = Postgres.connect(database.urls, { poolSize: 1 });
  const prisma = new PrismaService(postgres);
  const three = async (sql: string) => {
    for (let i = 0; i < 2; i++) await prisma.asWorker((client) => client.$queryRawUnsafe(sql));
    return prisma.asWorker((client) => client.$queryRawUnsafe(sql));
  };
  expect(await three('SELECT 1::int AS a')).toEqual([{ a: 1 }]);
  await prisma.close();
  expect(await three('SELECT 2::int AS b')).toEqual([{ b: 2 }]);
  await prisma.close();
  await postgres.close();
});

it('PrismaService stores and reads instants unchanged when the time zone of the server is not UTC', async () => {
  const owner = new pg.Client({ connectionString: database.urls.owner });
  await owner.connect();
  await owner.query(`ALTER DATABASE ${database.name} SET TimeZone = 'America/New_York'`);
  const postgres = Postgres.connect(database.urls, { poolSize: 1 });
  const prisma = new PrismaService(postgres);
  const at = new Date('2026-03-29T01:30:00.123Z');
  const row = await prisma.withWorkspace({ workspaceId: first }, async (tx) => {
    await tx.workspace.update({ where: { id: first }, data: { updatedAt: at } });
    return tx.workspace.findUnique({ where: { id: first }, select: { updatedAt: true } });
  });
  const { rows } = await owner.query<{ at: Date }>('SELECT updated_at AS at FROM workspace WHERE id = $1', [first]);
  expect([row?.updatedAt, rows[0]?.at]).toEqual([at, at]);
  await prisma.close();
  await postgres.close();
  await owner.end();
});
