import { randomUUID } from 'node:crypto';

import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { fromPrisma, PgBoss } from 'pg-boss';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { QUEUE_SCHEMA, TOOL_QUEUES } from './queue-list.js';
import { ensureQueueSchema } from './queue-schema.js';

const WORKSPACE = { workspaceId: '0190a0a0-0000-7000-8000-000000000000' };
let database: TestDatabase;
let api: PgBoss;
let engine: PgBoss;
const more: PgBoss[] = [];
const settings = { schema: QUEUE_SCHEMA, migrate: false, schedule: false };

beforeAll(async () => {
  database = await createTestDatabase();
  api = new PgBoss({ ...settings, connectionString: database.urls.api, supervise: false });
  engine = new PgBoss({ ...settings, connectionString: database.urls.worker, supervise: true, useListenNotify: true });
  await api.start();
  await engine.start();
});

afterAll(async () => {
  for (const boss of [api, engine]) await boss.stop({ graceful: false });
  await database.close();
});

// A failed test leaves no instance behind, whose polling would outlive the file.
afterEach(async () => {
  for (const boss of more.splice(0)) await boss.stop({ graceful: false });
});

async function start(connectionString: string): Promise<PgBoss> {
  const boss = new PgBoss({ ...settings, connectionString, supervise: false });
  more.push(boss);
  await boss.start();
  return boss;
}

it('the API role sends a queue message within its own transaction', async () => {
  await database.prisma.withWorkspace(WORKSPACE, (tx) => api.send('job.chat', { jobId: 'a' }, { db: fromPrisma(tx) }));
  const taken = await engine.fetch<{ jobId: string }>('job.chat', { batchSize: 10 });
  expect(taken.map(({ data }) => data.jobId)).toEqual(['a']);
  await engine.complete(
    'job.chat',
    taken.map(({ id }) => id),
  );
});

it('the rollback of a transaction removes its queue message', async () => {
  const failing = database.prisma.withWorkspace(WORKSPACE, async (tx) => {
    await api.send('job.chat', { jobId: 'b' }, { db: fromPrisma(tx) });
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await engine.fetch('job.chat')).toEqual([]);
});

it('the transaction that starts a job sends no NOTIFY', async () => {
  const queues = await Promise.all(['job.chat', 'job.workflow'].map((name) => engine.getQueue(name)));
  expect(queues.map((queue) => queue?.notify)).toEqual([false, false]);
});

it('the queues of isolated tools have tables of their own, and only results are retried', async () => {
  const queues = await Promise.all(Object.values(TOOL_QUEUES).map((name) => engine.getQueue(name)));
  const settings = queues.map((queue) => [queue?.name, queue?.retryLimit, queue?.deadLetter, queue?.partition]);
  expect(settings).toEqual([
    ['tool-execution', 0, null, true],
    ['tool-results', 8_640, 'tool-execution-dead', true],
    ['tool-execution-dead', 0, null, true],
  ]);
  expect(queues.some((queue) => queue?.notify)).toBe(false);
});

it('the migration gives a queue of an older build its own table, and keeps its messages', async () => {
  const owner = await start(database.urls.owner);
  await owner.deleteQueue(TOOL_QUEUES.results);
  await owner.createQueue(TOOL_QUEUES.results, { retryLimit: 0 });
  const message = { id: randomUUID(), data: { n: 1 }, singletonKey: 'a workspace', priority: 3 };
  await owner.insert(TOOL_QUEUES.results, [message]);
  await owner.stop({ graceful: false });

  const client = new pg.Client({ connectionString: database.urls.owner });
  await client.connect();
  await ensureQueueSchema(client);
  await client.end();

  const fresh = await start(database.urls.worker);
  expect(await fresh.getQueue(TOOL_QUEUES.results)).toMatchObject({ partition: true, retryLimit: 8_640 });
  expect(await fresh.findJobs(TOOL_QUEUES.results)).toMatchObject([{ ...message, state: 'created' }]);
});

it('the role of the workers supervises the queues', async () => {
  await expect(engine.supervise()).resolves.toBeUndefined();
});

it('the API role cannot read queue messages', async () => {
  const reading = database.postgres.api.query('SELECT data FROM pgboss.job');
  await expect(reading).rejects.toThrow('permission denied');
});
