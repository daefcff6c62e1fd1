import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal } from '#auth';
import { type ClaimedJob, JobStarter, JobUpdater, roundRow } from '#jobs';
import { newId } from '#platform';
import { type NewCall, newCallRow, openCallRow, settleCallRow, startCallRow, verifyCallRow } from '#tools';

import { AnswerWritesRepository } from '../../libs/chat/src/answers/answer-writes.repository.js';
import { CancelRepository } from '../../libs/jobs/src/cancel/cancel.repository.js';
import type { JobWrite } from '../../libs/jobs/src/events/commit-statement.js';
import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import { RetentionRepository } from '../../libs/jobs/src/retention/retention.repository.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { claimOne } from '../harness/claim-one.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { startTestEngine, type TestEngine } from '../harness/engine.js';
import { openTestIdentities } from '../harness/identities.js';
import { endOf, writeOf } from '../harness/jobs.js';

interface Change {
  readonly type: string;
  readonly collection: string;
  readonly documentId: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly before?: Readonly<Record<string, unknown>>;
}

describe('change records for triggers', () => {
  let database: TestDatabase;
  let engine: TestEngine;
  let member: MemberPrincipal;
  let workspaceId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startTestEngine(database, { LOG_LEVEL: 'silent' }, false);
  });
  beforeEach(async () => {
    const identities = openTestIdentities(database);
    ({ member } = await identities.workspaceOf(newId()));
    identities.auth.close();
    ({ workspaceId } = member);
  });
  afterAll(async () => {
    await engine.close();
    await database.close();
  });

  const sql = <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    database.postgres.withWorkspaceSql(
      workspaceId,
      async (client) => (await client.query<Row>(text, [...values])).rows,
    );
  const watch = async (kinds: readonly string[], name = 'acme') => {
    const insert = `INSERT INTO trigger_definition (workspace_id, id, database, trigger_id, origin, own_kinds, definition, saved_by)
      VALUES ($1, $2, $3, $4, 'api', $5, '{}', 'system')`;
    await sql(insert, [workspaceId, newId(), name, newId(), kinds]);
  };
  /** In the order in which they were written; they are removed. */
  const changes = async (): Promise<Change[]> => {
    const rows = await sql<{ body: Change; key: string | null; own: boolean }>(
      'WITH d AS (DELETE FROM document_change RETURNING *) SELECT body, key, own FROM d ORDER BY ordinal',
    );
    for (const { key, own } of rows) expect({ key, own }).toEqual({ key: null, own: true });
    return rows.map(({ body }) => body);
  };
  const brief = async () =>
    (await changes()).map(({ type, before, document }) => [type, before?.['status'] ?? null, document['status']]);
  const start = async (content: unknown = 'Hello', threadRef: string | null = newId()) => {
    const jobId = newId();
    await engine.app.get(JobStarter).start({
      ...{ jobId, workspaceId, kind: 'chat', principal: member.id, createdBy: member.userId },
      thread: threadRef === null ? null : { ref: threadRef, createTitle: 'Test' },
      ...{ messageClientId: null, model: 'scripted', keyCipher: null, retryOf: null, idempotency: null },
      input: { messages: [content === null ? [] : { role: 'user', content }].flat() },
    });
    return jobId;
  };
  const claim = async (jobId: string): Promise<ClaimedJob> => {
    const job = await claimOne(engine.app.get(LeaseRepository), { workspaceId, jobId }, 'a worker');
    if (job === undefined) throw new Error('the job cannot be claimed');
    return job;
  };
  const running = async () => claim(await start());
  const commit = async (write: JobWrite) => (await engine.app.get(EventLogRepository).commit([write]))[0];
  const place = { round: 1, ordinal: 1 };
  const call = (given: Partial<NewCall> = {}): NewCall => ({
    ...{ ordinal: 1, callId: 'call_1', name: 'add', arguments: '{"a":1}', effect: 'once', status: 'pending' },
    ...{ result: null, error: null, ranMs: null },
    ...given,
  });
  const failure = { phase: 'execution', message: 'no' } as const;
  const round = (number: number, text: string) => ({
    ...{ number, text, model: 'm', reasoning: '', finishReason: 'stop', partial: false, usageEstimated: false },
    ...{ promptTokens: 0, completionTokens: 0, startedAt: 0 },
  });
  const cancel = (jobId: string) => {
    const cancels = engine.app.get(CancelRepository);
    const order = { workspaceId, jobId, by: 'system', reason: 'why' };
    return cancels.inWorkspace(workspaceId, (tx) => cancels.cancel(tx, order));
  };

  describe('about jobs', () => {
    it('record the start, each move and the end of a job', async () => {
      await watch(['jobs']);
      const job = await running();
      const [created, started, ...more] = await changes();
      expect(more).toEqual([]);
      const document = { kind: 'chat', threadId: job.threadId, workflowId: null, error: null, finishedAt: null };
      expect(created).toMatchObject({ type: 'create', collection: 'jobs', documentId: job.jobId });
      expect(created?.document).toMatchObject({ ...document, status: 'queued', createdAt: expect.any(Number) });
      expect(created).not.toHaveProperty('before');
      expect(started).toMatchObject({ type: 'update', before: { kind: 'chat', status: 'queued' } });
      expect(started?.document).toMatchObject({ ...document, status: 'running' });
      await commit(writeOf(job, 1, { move: { to: 'waiting', externalUpdates: 0 } }));
      await cancel(job.jobId);
      const [waiting, ended, ...others] = await changes();
      expect(others).toEqual([]);
      expect([waiting?.document['status'], ended?.document['status']]).toEqual(['waiting', 'cancelled']);
      expect(ended?.document).toMatchObject({ finishedAt: expect.any(Number) });
    });

    it('appear once for each name of the database', async () => {
      await watch(['jobs'], 'acme');
      await watch(['jobs', 'messages'], 'acme');
      await watch(['jobs'], workspaceId);
      await watch(['tool-calls'], 'other');
      await start(null);
      const rows = await sql<{ database: string }>('SELECT database FROM document_change ORDER BY database');
      expect(rows.map((row) => row.database).sort()).toEqual(['acme', workspaceId].sort());
    });
  });

  describe('about messages', () => {
    it('record the messages of a request, with the job that answers them', async () => {
      await watch(['messages']);
      const content = [{ type: 'text', text: 'Hello' }];
      const jobId = await start(content);
      const [change, ...more] = await changes();
      expect(more).toEqual([]);
      const [{ threadId } = { threadId: '' }] = await sql<{ threadId: string }>(
        'SELECT thread_id AS "threadId" FROM job',
      );
      expect(change).toMatchObject({ type: 'create', collection: `threads/${threadId}/messages` });
      const document = { role: 'user', content, position: 0, createdAt: expect.any(Number), jobId };
      expect(change?.document).toEqual({ ...document, position: expect.any(Number) });
    });

    it('contain the content of a message that is stored whole', async () => {
      await watch(['messages']);
      const messages = [{ role: 'user', content: 'Hi', name: 'Ann' }];
      const jobId = newId();
      await engine.app.get(JobStarter).start({
        ...{ jobId, workspaceId, kind: 'chat', principal: member.id, createdBy: member.userId, input: { messages } },
        thread: { ref: newId(), createTitle: 'Test' },
        ...{ messageClientId: null, model: 'scripted', keyCipher: null, retryOf: null, idempotency: null },
      });
      expect((await changes())[0]?.document).toMatchObject({ content: 'Hi', jobId });
    });

    it('record a message that a client sends with its results, with the job that waited', async () => {
      await watch(['messages']);
      const { jobId } = await running();
      await changes();
      const writes = engine.app.get(AnswerWritesRepository);
      await engine.app
        .get(JobUpdater)
        .update(workspaceId, jobId, (job) => writes.storeUserMessages(job, 1, [{ role: 'user', content: 'And?' }]));
      expect((await changes()).map(({ document }) => document)).toEqual([
        { role: 'user', content: 'And?', position: expect.any(Number), createdAt: expect.any(Number), jobId },
      ]);
    });

    it('record the response of a job when the job ends, with the text of its rounds', async () => {
      await watch(['messages']);
      const job = await running();
      await changes();
      await commit(writeOf(job, 1, { rows: [roundRow(job, round(1, 'Hello '))] }));
      expect(await changes()).toEqual([]);
      await commit({
        ...endOf(job, 2),
        rows: [roundRow(job, round(2, 'world')), roundRow(job, { ...round(3, 'x'), nodeRun: 1 })],
      });
      expect(await changes()).toEqual([
        {
          ...{ type: 'create', collection: `threads/${job.threadId ?? ''}/messages`, documentId: job.messageId },
          ...{ timestamp: expect.any(Number) },
          document: {
            role: 'assistant',
            content: 'Hello world',
            position: expect.any(Number),
            createdAt: expect.any(Number),
            jobId: job.jobId,
          },
        },
      ]);
    });

    it('ignore retention, which moves the text of a job into its message', async () => {
      await watch(['messages']);
      const job = await running();
      await commit(endOf(job, 1));
      await changes();
      expect(await engine.app.get(RetentionRepository).deleteJobs(workspaceId, [job.jobId])).toBe(1);
      expect(await changes()).toEqual([]);
    });
  });

  describe('about tool calls', () => {
    it('record a new call and its result', async () => {
      await watch(['tool-calls']);
      const job = await running();
      await commit(writeOf(job, 1, { rows: [newCallRow(job, 1, call())] }));
      const [created, ...more] = await changes();
      expect(more).toEqual([]);
      const document = {
        toolName: 'add',
        args: { a: 1 },
        jobId: job.jobId,
        createdAt: expect.any(Number),
        error: null,
      };
      expect(created).toMatchObject({ type: 'create', collection: `threads/${job.threadId ?? ''}/tool-calls` });
      expect(created?.document).toEqual({ ...document, status: 'pending', result: null });
      await commit(writeOf(job, 2, { rows: [startCallRow(job, place)] }));
      expect(await changes()).toEqual([]);
      const settlement = { status: 'completed', result: '{"sum":2}' } as const;
      await commit(writeOf(job, 3, { rows: [settleCallRow(job, place, settlement)] }));
      const [updated, ...others] = await changes();
      expect(others).toEqual([]);
      expect(updated).toMatchObject({
        type: 'update',
        documentId: created?.documentId,
        before: { toolName: 'add', status: 'pending' },
      });
      expect(updated?.document).toEqual({ ...document, status: 'success', result: '{"sum":2}' });
    });

    it('show a call that is stored with its result as pending first', async () => {
      await watch(['tool-calls']);
      const job = await running();
      await commit(
        writeOf(job, 1, { rows: [newCallRow(job, 1, call({ status: 'completed', result: '2', ranMs: 1 }))] }),
      );
      expect(await brief()).toEqual([
        ['create', null, 'pending'],
        ['update', 'pending', 'success'],
      ]);
    });

    it('show every other end of a call as failed, with its message', async () => {
      await watch(['tool-calls']);
      const job = await running();
      const ends = ['error', 'timed_out', 'skipped', 'denied', 'cancelled'] as const;
      const rows = ends.map((status, i) =>
        newCallRow(job, 1, call({ status, ordinal: i + 1, callId: `c${i}`, error: failure })),
      );
      await commit(writeOf(job, 1, { rows }));
      const found = await changes();
      expect(found).toHaveLength(2 * ends.length);
      for (const { document } of found.filter(({ type }) => type === 'update'))
        expect(document).toMatchObject({ status: 'failed', error: 'no', result: null });
    });

    it('ignore that a call waits for a person or a client', async () => {
      await watch(['tool-calls']);
      const job = await running();
      await commit(writeOf(job, 1, { rows: [newCallRow(job, 1, call())] }));
      await changes();
      await commit(
        writeOf(job, 2, { rows: [openCallRow(job, place, { status: 'awaiting_approval', executor: 'worker' })] }),
      );
      await commit(
        writeOf(job, 3, { rows: [openCallRow(job, place, { status: 'awaiting_client', executor: 'client' })] }),
      );
      expect(await changes()).toEqual([]);
      await commit(writeOf(job, 4, { rows: [settleCallRow(job, place, { status: 'denied', failure })] }));
      expect(await brief()).toEqual([['update', 'pending', 'failed']]);
    });

    it('show a call with an unknown outcome as pending until a person decides', async () => {
      await watch(['tool-calls']);
      const job = await running();
      await commit(writeOf(job, 1, { rows: [newCallRow(job, 1, call({ status: 'running' }))] }));
      await sql(`UPDATE job SET lease_until = clock_timestamp() - interval '1 s'`);
      const again = await claim(job.jobId);
      expect(await sql('SELECT status FROM tool_call')).toEqual([{ status: 'interrupted' }]);
      expect(await brief()).toEqual([['create', null, 'pending']]);
      await commit(writeOf(again, 1, { rows: [verifyCallRow(again, place, { status: 'completed', result: '2' })] }));
      expect(await brief()).toEqual([['update', 'pending', 'success']]);
    });

    it('show a call as failed when its job ends without a decision', async () => {
      await watch(['tool-calls']);
      const job = await running();
      await commit(
        writeOf(job, 1, {
          rows: [newCallRow(job, 1, call({ status: 'running' }))],
          move: { to: 'waiting', externalUpdates: 0 },
        }),
      );
      await changes();
      await cancel(job.jobId);
      expect(await sql('SELECT status FROM tool_call')).toEqual([{ status: 'interrupted' }]);
      expect(await brief()).toEqual([['update', 'pending', 'failed']]);
      await sql(`UPDATE tool_call SET status = 'completed', result = '2'`);
      expect(await brief()).toEqual([['update', 'failed', 'success']]);
    });

    it('contain no arguments that are no JSON, and never refuse the call', async () => {
      await watch(['tool-calls']);
      const job = await running();
      const bad = ['{"a":', '{"a":"\\u0000"}', '['.repeat(60_000), ''];
      const rows = bad.map((text, i) => newCallRow(job, 1, call({ arguments: text, ordinal: i + 1, callId: `c${i}` })));
      expect(await commit(writeOf(job, 1, { rows }))).not.toBeInstanceOf(Error);
      expect((await changes()).map(({ document }) => document['args'])).toEqual(bad.map(() => ({})));
    });

    it('ignore a call outside of a thread', async () => {
      await watch(['tool-calls']);
      const job = await claim(await start('Hello', null));
      await commit(writeOf(job, 1, { rows: [newCallRow(job, 1, call())] }));
      await commit(writeOf(job, 2, { rows: [settleCallRow(job, place, { status: 'error', failure })] }));
      expect(await changes()).toEqual([]);
    });
  });

  it('need an enabled trigger for their kind', async () => {
    await watch(['jobs']);
    await sql('UPDATE trigger_definition SET enabled = false');
    const job = await running();
    await commit({ ...endOf(job, 1), rows: [newCallRow(job, 1, call({ status: 'completed', result: '2' }))] });
    expect(await changes()).toEqual([]);
  });

  it('disappear with a transaction that rolls back, and with a write that is fenced', async () => {
    await watch(['jobs', 'messages', 'tool-calls']);
    const job = await running();
    await changes();
    const insert =
      'INSERT INTO message (workspace_id, id, thread_id, position, role, content) VALUES ($1, $2, $3, 900, $4, $5)';
    const text = (role: string) => [workspaceId, newId(), job.threadId, role, '"x"'];
    const rolledBack = database.postgres.withWorkspaceSql(workspaceId, async (client) => {
      await client.query(insert, text('user'));
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    const stale = { ...job, epoch: job.epoch - 1 };
    expect(await commit({ ...endOf(stale, 1), rows: [newCallRow(stale, 1, call())] })).toBeInstanceOf(Error);
    expect(await changes()).toEqual([]);
  });
});
