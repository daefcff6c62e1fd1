import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { DatabaseUnavailable, firstIdAt, newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { endOf, openTestJobs, type TestJobs, writeOf } from '../../../../test/harness/jobs.js';
import { refuseRow } from '../../../../test/harness/refuse-row.js';
import { EventLogRepository } from '../events/event-log.repository.js';
import { EventFeed, type FeedItem } from '../feed/event-feed.js';
import { roundRow } from '../rounds/round.part.js';
import { SnapshotRepository } from '../snapshot/snapshot.repository.js';
import { Retention } from './retention.js';
import { RetentionRepository } from './retention.repository.js';

const hour = 3_600_000;

describe('Retention', () => {
  let database: TestDatabase;
  let jobs: TestJobs;
  const opened: TestJobs[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
  });

  beforeEach(async () => {
    jobs = await openTestJobs(database, { DELTA_RETENTION_MS: `${hour}`, JOB_RETENTION_MS: `${10 * hour}` });
    opened.push(jobs);
  });

  afterAll(async () => {
    for (const one of opened) await one.close();
    await database.close();
  });

  const pass = () => jobs.app.get(Retention).pass();
  const inWorkspace = async <Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> =>
    database.postgres.withWorkspaceSql(
      jobs.workspaceId,
      async (client) => (await client.query<Row>(sql, [...values])).rows,
    );
  /** A running job that has shown "Hello world". */
  const speak = async () => {
    const [started] = await jobs.start(1);
    const job = await jobs.claim(started?.jobId ?? '');
    const log = jobs.app.get(EventLogRepository);
    const piece = (offset: number, text: string) => ({ type: 'text-delta', body: { round: 1, offset, text } }) as const;
    const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
    await log.commit([writeOf(job, 1, { events: [piece(0, 'Hello ')] })]);
    await log.commit([
      writeOf(job, 2, {
        events: [
          piece(6, 'world'),
          { type: 'round-finished', body: { round: 1, finishReason: 'stop', usage, toolCallIds: [] } },
        ],
        rows: [
          roundRow(job, {
            ...{ number: 1, model: 'm', text: 'Hello world', reasoning: '', finishReason: 'stop', partial: false },
            ...{ promptTokens: 0, completionTokens: 0, usageEstimated: false, startedAt: 0 },
          }),
        ],
      }),
    ]);
    return job;
  };
  const endedAgo = async (ms: number): Promise<string> => {
    const job = await speak();
    await jobs.app.get(EventLogRepository).commit([endOf(job, 3)]);
    const past = `${firstIdAt(Date.now() - ms - 1_000).slice(0, 18)}${newId().slice(18)}`;
    // A job's id contains its creation time, so it must be as old as the job pretends to be.
    await rename(job.jobId, past);
    await jobs.rows(`UPDATE job SET finished_at = clock_timestamp() - $2 * interval '1 ms' WHERE id = $1`, [past, ms]);
    return past;
  };
  const rename = async (from: string, to: string) => {
    await inWorkspace(
      `WITH copy AS (SELECT (jsonb_populate_record(j, jsonb_build_object('id', $2::text))).* FROM job j WHERE id = $1)
       INSERT INTO job SELECT * FROM copy`,
      [from, to],
    );
    for (const table of ['job_event', 'round'])
      await inWorkspace(`UPDATE ${table} SET job_id = $2 WHERE job_id = $1`, [from, to]);
    await inWorkspace('DELETE FROM job WHERE id = $1', [from]);
  };
  const seqs = async (jobId: string) =>
    (await jobs.rows<{ seq: number }>('SELECT seq FROM job_event WHERE job_id = $1 ORDER BY seq', [jobId])).map(
      ({ seq }) => seq,
    );
  const follow = async (jobId: string, after: number): Promise<FeedItem[]> => {
    const items: FeedItem[] = [];
    const signal = AbortSignal.timeout(100_000);
    const { workspaceId } = jobs;
    for await (const item of jobs.app.get(EventFeed).follow({ workspaceId, jobId, after, signal })) items.push(item);
    return items;
  };

  it('trims the deltas only of jobs that ended long ago', async () => {
    const [old, fresh, open] = [await endedAgo(2 * hour), await endedAgo(hour / 2), (await speak()).jobId];
    await jobs.rows(`UPDATE job SET created_at = now() - interval '1 year' WHERE id = $1`, [open]);
    expect(await pass()).toMatchObject({ trimmed: 1, deleted: 0 });
    expect(await seqs(old)).toEqual([1, 2, 5, 6]);
    expect(await seqs(fresh)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await seqs(open)).toEqual([1, 2, 3, 4, 5]);
    expect(await pass()).toMatchObject({ trimmed: 0 });
  });

  it("uses the workspace's own times instead of the installation's", async () => {
    const [a, b] = [await endedAgo(2 * hour), await endedAgo(hour / 2)];
    await inWorkspace('UPDATE workspace SET delta_retention_ms = $1, job_retention_ms = 0', [3 * hour]);
    expect(await pass()).toMatchObject({ trimmed: 0, deleted: 0 });
    await inWorkspace('UPDATE workspace SET delta_retention_ms = $1', [hour / 4]);
    expect(await pass()).toMatchObject({ trimmed: 2 });
    expect([await seqs(a), await seqs(b)]).toEqual([
      [1, 2, 5, 6],
      [1, 2, 5, 6],
    ]);
    const veryOld = await endedAgo(1_000 * hour);
    expect(await pass()).toMatchObject({ deleted: 0 });
    await inWorkspace('UPDATE workspace SET job_retention_ms = $1', [100 * hour]);
    expect(await pass()).toMatchObject({ deleted: 1 });
    expect(await jobs.rows('SELECT 1 FROM job WHERE id = $1', [veryOld])).toEqual([]);
  });

  it('keeps a job for a day after its idempotency key was used', async () => {
    const [kept, gone] = [await endedAgo(20 * hour), await endedAgo(20 * hour)];
    for (const [key, jobId, age] of [
      ['of today', kept, 23],
      ['of yesterday', gone, 25],
    ] as const)
      await inWorkspace(
        `INSERT INTO admission (workspace_id, principal, key, job_id, created_at)
         VALUES ($1, 'system', $2, $3, clock_timestamp() - $4 * interval '1 hour')`,
        [jobs.workspaceId, key, jobId, age],
      );
    expect(await pass()).toMatchObject({ deleted: 1 });
    expect(await jobs.rows('SELECT id FROM job WHERE id = ANY($1::uuid[])', [[kept, gone]])).toEqual([{ id: kept }]);
  });

  it('lets a viewer before the trimmed events get a snapshot and a viewer after them the tail', async () => {
    const jobId = await endedAgo(2 * hour);
    await pass();
    expect(await follow(jobId, 1)).toMatchObject([
      { type: 'snapshot', reset: true, snapshot: { content: 'Hello world', seq: 6 } },
    ]);
    expect(await follow(jobId, 4)).toMatchObject([{ type: 'events', events: [{ seq: 5 }, { seq: 6 }] }]);
  });

  it('lets a viewer get a snapshot instead of a gap if the log is trimmed between its reads', async () => {
    const jobId = await endedAgo(2 * hour);
    const { workspaceId } = jobs;
    const signal = AbortSignal.timeout(100_000);
    const items: FeedItem[] = [];
    const viewer = jobs.app.get(EventFeed).follow({ workspaceId, jobId, after: 2, signal });
    await shortenReads(async () => {
      items.push((await viewer.next()).value as FeedItem); // the job has more to show
      await pass();
      for await (const item of viewer) items.push(item);
    });
    expect(items).toMatchObject([
      { type: 'events', events: [{ seq: 3 }] },
      { type: 'snapshot', reset: true, snapshot: { content: 'Hello world', ended: true } },
    ]);
  });
  /** Lets a viewer read one event at a time. */
  const shortenReads = async (run: () => Promise<void>) => {
    const feed = jobs.app.get(EventFeed);
    const repository: unknown = Reflect.get(feed, 'repository');
    if (typeof repository !== 'object' || repository === null) throw new Error('the feed reads from a repository');
    const read: unknown = Reflect.get(repository, 'readAfter');
    if (typeof read !== 'function') throw new Error('the repository reads');
    const readOne = async (workspaceId: string, cursor: unknown): Promise<unknown[]> => {
      const events: unknown = await Reflect.apply(read, repository, [workspaceId, cursor]);
      return Array.isArray(events) ? Array.from<unknown>(events).slice(0, 1) : [];
    };
    Reflect.set(repository, 'readAfter', readOne);
    await run();
    Reflect.deleteProperty(repository, 'readAfter');
  };

  it('deletes jobs that ended long ago and keeps their content in the conversation', async () => {
    const jobId = await endedAgo(11 * hour);
    const [threadId, messageId] = [newId(), newId()];
    await inWorkspace('INSERT INTO thread (workspace_id, id, created_by) VALUES ($1, $2, $2)', [
      jobs.workspaceId,
      threadId,
    ]);
    await inWorkspace(
      `INSERT INTO message (workspace_id, id, thread_id, position, role, job_id) VALUES ($1, $2, $3, 1, 'assistant', $4)`,
      [jobs.workspaceId, messageId, threadId, jobId],
    );
    expect(await pass()).toMatchObject({ deleted: 1 });
    expect(await inWorkspace('SELECT content, job_id FROM message WHERE id = $1', [messageId])).toEqual([
      { content: 'Hello world', job_id: null },
    ]);
    expect(await jobs.rows('SELECT 1 FROM round WHERE job_id = $1', [jobId])).toEqual([]);
    expect(await seqs(jobId)).toEqual([]);
    expect(await jobs.app.get(SnapshotRepository).read(jobs.workspaceId, jobId)).toBeNull();
  });

  it('deletes in batches until nothing is left and never an unfinished job', async () => {
    const ids = [];
    for (let i = 0; i < 55; i++) ids.push(await endedAgo(11 * hour));
    const { jobId } = await speak();
    expect(await pass()).toMatchObject({ trimmed: 55, deleted: 55 });
    const left = await jobs.rows<{ id: string }>('SELECT id FROM job WHERE workspace_id = $1', [jobs.workspaceId]);
    expect(left.map(({ id }) => id)).toEqual([jobId]);
  });

  it('deletes the other jobs of the workspace when the oldest one cannot be deleted', async () => {
    const ids = [];
    for (let i = 0; i < 52; i++) ids.push(await endedAgo((70 - i) * hour));
    const allow = await refuseRow(database, { table: 'job', id: ids[0] ?? '', on: 'DELETE' });
    try {
      expect(await pass()).toMatchObject({ deleted: 51 });
      const left = await jobs.rows<{ id: string }>('SELECT id FROM job WHERE workspace_id = $1', [jobs.workspaceId]);
      expect(left).toEqual([{ id: ids[0] }]);
    } finally {
      await allow();
    }
    expect(await pass()).toMatchObject({ deleted: 1 });
  });

  it('measures the age of a job from its end, not from its creation', async () => {
    const jobId = await endedAgo(11 * hour);
    await jobs.rows('UPDATE job SET finished_at = clock_timestamp() WHERE id = $1', [jobId]);
    expect(await pass()).toMatchObject({ trimmed: 0, deleted: 0 });
  });

  it('deletes keys that were cancelled a day ago and never used', async () => {
    const add = (key: string, hours: number) =>
      inWorkspace(
        `INSERT INTO admission (workspace_id, principal, key, cancelled_at, created_at)
         VALUES ($1, 'system', $2, now(), now() - $3 * interval '1 h')`,
        [jobs.workspaceId, key, hours],
      );
    await add('old', 25);
    await add('new', 23);
    expect((await pass()).markers).toBe(1);
    expect(await inWorkspace('SELECT key FROM admission')).toEqual([{ key: 'new' }]);
  });

  it('deletes the markers of a workspace although those of another one cannot be deleted', async () => {
    const marker = (workspaceId: string) =>
      database.postgres.withWorkspaceSql(workspaceId, (client) =>
        client.query(
          `INSERT INTO admission (workspace_id, principal, key, cancelled_at, created_at)
           VALUES ($1, 'system', 'k', now(), now() - interval '25 h')`,
          [workspaceId],
        ),
      );
    const first = jobs.workspaceId;
    const second = await openTestJobs(database, {});
    opened.push(second);
    await marker(first);
    await marker(second.workspaceId);
    const repository = jobs.app.get(RetentionRepository);
    const deleteMarkers = repository.deleteMarkers.bind(repository);
    repository.deleteMarkers = (id, ms) => (id === first ? Promise.reject(new Error('away')) : deleteMarkers(id, ms));
    expect(await pass()).toMatchObject({ markers: 1 });
  });

  it('ends a pass when the database is unavailable, and continues after that workspace in the next pass', async () => {
    await openTestJobs(database, {}).then((second) => opened.push(second));
    const visits: string[] = [];
    let isAway = true;
    const retention = jobs.app.get(Retention);
    retention.register({
      deleteExpired: (workspaceId) => {
        visits.push(workspaceId);
        return isAway ? Promise.reject(new DatabaseUnavailable(new Error('ECONNREFUSED'))) : Promise.resolve(0);
      },
    });
    await expect(pass()).rejects.toBeInstanceOf(DatabaseUnavailable);
    expect(visits).toHaveLength(1);
    isAway = false;
    await pass();
    expect(visits.slice(1)).not.toContain(visits[0]);
    await pass();
    expect(visits.slice(1)).toContain(visits[0]);
  });

  it('continues with other workspaces and rows when a row cannot be deleted', async () => {
    const visits: string[] = [];
    const retention = jobs.app.get(Retention);
    retention.register({ deleteExpired: () => Promise.reject(new Error('away')) });
    retention.register({
      deleteExpired: (workspaceId) => {
        visits.push(workspaceId);
        return Promise.resolve(0);
      },
    });
    await pass();
    expect(visits.length).toBeGreaterThan(1);
    expect(visits).toContain(jobs.workspaceId);
  });
});
