import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import {
  Config,
  createLogger,
  Metrics,
  newId,
  Postgres,
  PrismaService,
  Queues,
  rootBox,
  Secret,
  toolBox,
  toolsKeyOf,
} from '#platform';

import { FilesRepository } from '../../libs/files/src/files.repository.js';
import { PostgresFileStore } from '../../libs/files/src/store/postgres-file-store.repository.js';
import { secretPlace } from '../../libs/integrations/src/secrets/workspace-secret.js';
import { WorkspaceSecretsRepository } from '../../libs/integrations/src/secrets/workspace-secrets.repository.js';
import { ExecClaimsRepository } from '../../libs/tools/src/remote/exec-claims.repository.js';
import type { ToolResponse } from '../../libs/tools/src/remote/queue-message.js';
import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { seedWorkspace } from '../harness/engine.js';
import { openTestToolQueue, responseTo, type SentCall, type TestToolQueue } from '../harness/tool-queue.js';

/** What the role may read but calls that wait, their jobs, and the settings of queues. */
const READABLE = `
  SELECT c.oid::regclass::text AS name, string_agg(quote_ident(a.attname), ', ') AS columns
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
   WHERE c.relnamespace IN ('public'::regnamespace, 'tool_process'::regnamespace) AND c.relkind IN ('r', 'p', 'v')
     AND c.oid NOT IN ('public.tool_call'::regclass, 'public.job'::regclass)
     AND has_column_privilege('nightshift_tools', c.oid, a.attnum, 'SELECT') GROUP BY c.oid`;

let database: TestDatabase;
let owner: Postgres;
let queue: TestToolQueue;
let mine: Postgres;
let theirs: Postgres;
let prisma: PrismaService;
let theirPrisma: PrismaService;
const opened = new Map<Postgres, Queues>();
const config = Config.from({ ROLE: 'tools', WORKER_QUEUES: 'tool-execution' });
const secretOf = (workspaceId: string) => `the secret of ${workspaceId}`;

beforeAll(async () => {
  database = await createTestDatabase();
  const url = database.urls.owner;
  owner = Postgres.connect({ api: url, worker: url }, { poolSize: 1 });
  queue = await openTestToolQueue(database);
  mine = Postgres.connectToolProcess(database.urls.tools, { poolSize: 2 });
  prisma = new PrismaService(mine);
  theirs = Postgres.connectToolProcess(database.urls.tools, { poolSize: 2 });
  theirPrisma = new PrismaService(theirs);
});

afterAll(async () => {
  for (const queues of opened.values()) await queues.stop();
  await Promise.all([prisma.close(), theirPrisma.close()]);
  await Promise.all([mine.close(), theirs.close(), owner.close()]);
  await queue.close();
  await database.close();
});

/** pg-boss as a tool process runs it. */
const queuesOf = (postgres: Postgres): Queues => {
  const logger = createLogger({ level: 'silent' });
  const queues = opened.get(postgres) ?? new Queues({ config, logger, metrics: new Metrics(), postgres });
  opened.set(postgres, queues);
  return queues;
};
const claimsOf = (postgres: Postgres) =>
  new ExecClaimsRepository(postgres, postgres === mine ? prisma : theirPrisma, config, queuesOf(postgres));
const claim = async (postgres: Postgres, sent: SentCall) => {
  const [call] = await claimsOf(postgres).claim([{ ...sent, ttlMs: 60_000 }], 'ignored');
  return call;
};
const send = (postgres: Postgres, sent: SentCall, response: Partial<ToolResponse>) =>
  queuesOf(postgres).send(null, 'tool-results', [{ data: responseTo(sent, 1, response), key: sent.workspaceId }]);
const fetchedBy = async (postgres: Postgres, sql: string, values: unknown[] = []) =>
  (await postgres.workerPool.query<Record<string, unknown>>(sql, values)).rows;
/** pg-boss's table of a queue. */
const tableOf = async (name: string) => {
  const [row] = await fetchedBy(mine, `SELECT 'pgboss.' || table_name AS table FROM pgboss.queue WHERE name = $1`, [
    name,
  ]);
  return String(row?.['table']);
};
const seedSecret = async (workspaceId: string) => {
  const id = newId();
  const held = { kind: 'root', secret: TEST_SECRET, previous: [] } as const;
  const cipher = toolBox(held).seal(new Secret(secretOf(workspaceId)), secretPlace(workspaceId, id));
  await owner.workerPool.query(
    `INSERT INTO workspace_secret (workspace_id, id, name, cipher, created_by) VALUES ($1, $2, 'TOKEN', $3, 'system')`,
    [workspaceId, id, cipher],
  );
};

describe('nightshift_tools', () => {
  it('reads nothing of a workspace without a claimed call', async () => {
    await seedSecret(queue.workspaceId);
    await queue.sendOne('once');
    const { rows } = await owner.workerPool.query<{ name: string; columns: string }>(READABLE);
    expect(rows.length).toBeGreaterThan(15);
    for (const { name, columns } of rows) {
      expect([name, await fetchedBy(mine, `SELECT ${columns} FROM ${name}`)]).toEqual([name, []]);
    }
    const { workspaceId } = queue;
    const reading = prisma.withWorkspace({ workspaceId }, (tx) => tx.approvalPolicy.findFirst());
    await expect(reading).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('reads the secrets of the workspace of a claimed call, and of no other', async () => {
    const other = (await seedWorkspace(database)).workspaceId;
    await seedSecret(other);
    const sent = await queue.sendOne('once');
    expect(await claim(mine, sent)).toMatchObject({ id: sent.id, epoch: 1 });
    const secrets = new WorkspaceSecretsRepository(prisma);
    const [sealed] = await secrets.sealed(sent.workspaceId, ['TOKEN']);
    const box = toolBox({ kind: 'tools', toolsKey: toolsKeyOf(TEST_SECRET), previous: [] });
    const place = secretPlace(sent.workspaceId, sealed?.id ?? '');
    expect(box.open(sealed?.cipher ?? new Uint8Array(), place).reveal()).toBe(secretOf(sent.workspaceId));
    expect(await fetchedBy(mine, 'SELECT DISTINCT workspace_id FROM workspace_secret')).toEqual([
      { workspace_id: sent.workspaceId },
    ]);
    await expect(secrets.sealed(other, ['TOKEN'])).rejects.toMatchObject({ code: 'unavailable' });
    expect(await fetchedBy(theirs, 'SELECT id FROM workspace_secret')).toEqual([]);
    await send(mine, sent, {});
  });

  it('reads policies and the agent of a claimed job, and none of its messages', async () => {
    const sent = await queue.sendOne('once');
    const input = { messages: [{ role: 'user', content: 'private' }], toolApproval: { rules: [] }, agent: { id: 'a' } };
    await owner.workerPool.query('UPDATE job SET input = $2 WHERE id = $1', [sent.jobId, input]);
    await claim(mine, sent);
    const rows = await fetchedBy(mine, 'SELECT input FROM job WHERE id = $1', [sent.jobId]);
    expect(rows).toEqual([{ input: { toolApproval: { rules: [] }, agent: { id: 'a' } } }]);
  });

  it('reads the files that the arguments of a claimed call name, and no others', async () => {
    const files = new FilesRepository(prisma);
    const store = new PostgresFileStore(prisma);
    const [named, other] = ['a'.repeat(64), 'b'.repeat(64)];
    for (const [id, hash] of [
      [newId(), named],
      [newId(), other],
    ]) {
      await owner.workerPool.query(
        `INSERT INTO stored_file (workspace_id, id, hash, mime, bytes, store, kept_until)
         VALUES ($1, $2, $3, 'text/plain', 4, 'postgres', now())`,
        [queue.workspaceId, id, hash],
      );
      await owner.workerPool.query(
        `INSERT INTO file_chunk (workspace_id, file_id, number, data) VALUES ($1, $2, 0, 'text')`,
        [queue.workspaceId, id],
      );
    }
    const sent = await queue.sendOne('once');
    await owner.workerPool.query('UPDATE tool_call SET arguments = $2, executed_arguments = $2 WHERE id = $1', [
      sent.id,
      JSON.stringify({ hash: named }),
    ]);
    expect(await fetchedBy(mine, 'SELECT id FROM stored_file')).toEqual([]);
    await claim(mine, sent);
    const found = await files.findNamed(sent.workspaceId, named);
    expect(found).toMatchObject({ hash: named, bytes: 4, store: 'postgres' });
    if (found === null) throw new Error('it was found');
    expect(Buffer.from(await store.read(found, { start: 0, end: 4 })).toString()).toBe('text');
    expect(await files.findNamed(sent.workspaceId, other)).toBeNull();
    expect(await fetchedBy(mine, 'SELECT file_id FROM file_chunk')).toEqual([{ file_id: found.id }]);
    expect(await fetchedBy(theirs, 'SELECT id FROM stored_file')).toEqual([]);
    await send(mine, sent, {});
  });

  it('settles a call that it claimed, and no other', async () => {
    const [waiting, own, foreign] = await queue.send('once', 'once', 'once');
    if (waiting === undefined || own === undefined || foreign === undefined) throw new Error('three calls were sent');
    await claim(mine, own);
    await claim(theirs, foreign);
    const results = () =>
      queue.rows<{ id: string }>(
        `SELECT data->>'correlation_id' AS id FROM pgboss.job WHERE name = 'tool-results' AND data->>'job_id' = $1`,
        [own.jobId],
      );
    for (const [sent, epoch] of [
      [waiting, 0],
      [waiting, 1],
      [foreign, 1],
    ] as const) {
      await expect(send(mine, sent, { exec_epoch: epoch })).rejects.toMatchObject({ code: '42501' });
    }
    await expect(send(mine, own, { job_id: newId() })).rejects.toMatchObject({ code: '42501' });
    expect(await results()).toEqual([]);
    await send(mine, own, {});
    expect(await results()).toEqual([{ id: own.id }]);
  });

  it('renews and releases its own claims, and cannot read or take those of another process', async () => {
    const [own, foreign] = await queue.send('idempotent', 'idempotent');
    if (own === undefined || foreign === undefined) throw new Error('two calls were sent');
    await claim(mine, own);
    const claims = claimsOf(mine);
    await claim(theirs, foreign);
    expect(
      await claims.renew([
        { ...own, epoch: 1 },
        { ...foreign, epoch: 1 },
      ]),
    ).toEqual(new Set([own.id]));
    expect(await claim(mine, foreign)).toBeUndefined();
    expect(await claims.release({ ...foreign, epoch: 1 }, { restartWait: false, delayMs: 0 })).toBe(false);
    expect(await fetchedBy(mine, 'SELECT id FROM tool_call WHERE id = $1', [foreign.id])).toEqual([]);
    await expect(fetchedBy(mine, 'SELECT exec_owner FROM tool_call')).rejects.toMatchObject({ code: '42501' });
    const steal = `UPDATE tool_call SET exec_owner = 'somebody', exec_until = now() WHERE id = $1`;
    await expect(fetchedBy(mine, steal, [own.id])).rejects.toMatchObject({ code: '42501' });
    expect(await claims.release({ ...own, epoch: 1 }, { restartWait: true, delayMs: 0 })).toBe(true);
    expect(await claim(theirs, own)).toMatchObject({ epoch: 2 });
    expect(await claims.renew([{ ...own, epoch: 2 }])).toEqual(new Set());
  });

  it('takes over an idempotent call whose claim has expired', async () => {
    const sent = await queue.sendOne('idempotent');
    await claim(theirs, sent);
    await queue.expire(sent);
    expect(await claim(mine, sent)).toMatchObject({ epoch: 2 });
    await expect(send(theirs, sent, {})).rejects.toMatchObject({ code: '42501' });
  });

  it('cannot change a job, a queue message, or who accepted a definition', async () => {
    const sent = await queue.sendOne('once');
    await claim(mine, sent);
    for (const sql of [
      `UPDATE public.job SET restarts = 7 WHERE id = '${sent.jobId}'`,
      `UPDATE pgboss.job SET priority = 7 WHERE name = 'tool-execution'`,
      `UPDATE ${await tableOf('tool-execution')} SET priority = 7`,
      `DELETE FROM pgboss.job WHERE name <> 'tool-execution' RETURNING id`,
      `SELECT id FROM pgboss.job WHERE name <> 'tool-execution'`,
      `SELECT id FROM ${await tableOf('tool-results')}`,
      `SELECT id FROM ${await tableOf('tool-execution-dead')}`,
      `UPDATE mcp_tool SET accepted_hash = hash`,
      `INSERT INTO audit_entry (workspace_id, id, actor, action, subject_type, subject_id, details)
       VALUES ('${sent.workspaceId}', '${newId()}', 'system', 'secret-set', 'ApprovalGrant', '', '{}')`,
    ]) {
      await expect(fetchedBy(mine, sql)).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('fetches, returns and completes requests through pg-boss', async () => {
    await fetchedBy(queue.platform.postgres, `DELETE FROM pgboss.job WHERE name = 'tool-execution'`);
    const [own, foreign] = await queue.send('once', 'once');
    if (own === undefined || foreign === undefined) throw new Error('two calls were sent');
    const [first] = await queuesOf(mine).fetch('tool-execution', {});
    if (first === undefined) throw new Error('nothing was fetched');
    await queuesOf(mine).giveBack('tool-execution', first);
    const fetched = await queuesOf(mine).fetch('tool-execution', { batchSize: 2 });
    expect(fetched).toHaveLength(2);
    const requestOf = ({ id }: SentCall) => {
      const found = fetched.find(({ data }) => 'correlation_id' in data && data.correlation_id === id);
      if (found === undefined) throw new Error('it was not fetched');
      return found;
    };
    const respond = (sent: SentCall) =>
      queuesOf(mine).respond('tool-execution', requestOf(sent), {
        queue: 'tool-results',
        message: { data: responseTo(sent, 1), key: sent.workspaceId },
      });
    await expect(respond(own)).rejects.toMatchObject({ code: '42501' });
    await claim(mine, own);
    await claim(theirs, foreign);
    await respond(own);
    await expect(respond(foreign)).rejects.toMatchObject({ code: '42501' });
    // A completed request is visible to the process of its call alone.
    const visible = async (postgres: Postgres) =>
      (await queuesOf(postgres).fetch('tool-execution', {})).length +
      (await fetchedBy(postgres, `SELECT id FROM ${await tableOf('tool-execution')} WHERE state > 'active'`)).length;
    expect([await visible(mine), await visible(theirs)]).toEqual([1, 0]);
    await queuesOf(mine).remove('tool-execution', requestOf(foreign));
    expect(await queue.platform.queues.find('tool-execution', {})).toMatchObject([{ state: 'completed' }]);
  });
});

describe('the key of tool processes', () => {
  it('opens no value that the root secret sealed', () => {
    const place = { workspaceId: newId(), table: 'model_provider', row: newId(), field: 'key_cipher' };
    const sealed = rootBox({ kind: 'root', secret: TEST_SECRET, previous: [] }).seal(new Secret('sk-provider'), place);
    const held = { kind: 'tools', toolsKey: toolsKeyOf(TEST_SECRET), previous: [] } as const;
    expect(() => toolBox(held).open(sealed, place)).toThrow('cannot be opened');
    expect(() => rootBox(held).open(sealed, place)).toThrow('cannot be opened');
    expect(() => rootBox(held).seal(new Secret('anything'), place)).toThrow('cannot be opened');
  });
});
