import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';

import { NotificationsRepository } from '#jobs';
import { NotificationActivity } from '#jobs/api';
import { createLogger, newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { HintBus } from '../harness/identities.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';
import { notificationStage, scopeOfUser } from '../harness/notifications.js';

let database: TestDatabase;
let jobs: TestJobs;
let repository: NotificationsRepository;
/** The job that everything is about. */
let jobId: string;
let ending = new AbortController();

beforeAll(async () => {
  database = await createTestDatabase();
  jobs = await openTestJobs(database);
  repository = jobs.app.get(NotificationsRepository);
  jobId = await notificationStage(jobs).start();
});
afterEach(() => {
  ending.abort();
  ending = new AbortController();
});
afterAll(async () => {
  await jobs.close();
  await database.close();
});

interface Sql {
  query(text: string, values: unknown[]): Promise<unknown>;
}

/** Writes notifications of a user; gives the id of the last. */
async function tell(userId: string, count = 1, by: Sql = jobs.platform.postgres.workerPool): Promise<string> {
  const id = newId();
  await by.query(
    `INSERT INTO notification (workspace_id, id, user_id, type, job_id, interrupt_id)
     SELECT $1, CASE i WHEN $5 THEN $2 ELSE gen_random_uuid() END, $3, 'input_needed', $4, gen_random_uuid()
       FROM generate_series(1, $5::int) i`,
    [jobs.workspaceId, id, userId, jobId, count],
  );
  return id;
}

/** A notification feed that reads only after a hint. */
class Unpolled extends NotificationActivity {
  protected override readonly pollMs = 3_600_000;
  protected override readonly restMs = 0;
}

async function watchNotifications(userId: string) {
  const bus = new HintBus();
  const activity = new Unpolled(repository, bus, createLogger({ level: 'silent' }));
  const changes = activity.changes({ workspaceId: jobs.workspaceId, topic: userId }, ending.signal);
  expect((await changes.next()).value).toEqual([]);
  return async () => {
    bus.publish('interrupts-changed', { workspaceId: jobs.workspaceId });
    const { value } = await changes.next();
    return value ?? 'over';
  };
}

describe('live notifications', () => {
  it('contain each notification of the user that was written or read since the start, once', async () => {
    const [me, other] = [newId(), newId()];
    const before = await tell(me);
    const next = await watchNotifications(me);
    await tell(other, 3);
    const written = await tell(me);
    expect(await next()).toEqual([written]);
    await repository.markRead(scopeOfUser(jobs.workspaceId, other));
    await repository.markRead(scopeOfUser(jobs.workspaceId, me), { id: before });
    expect(await next()).toEqual([before]);
    await repository.markRead(scopeOfUser(jobs.workspaceId, me));
    expect(await next()).toEqual([written]);
  });

  it('contain a notification that was committed after a later one', async () => {
    const me = newId();
    const late = await jobs.platform.postgres.workerPool.connect();
    await late.query('BEGIN');
    const lateId = await tell(me, 1, late);
    const next = await watchNotifications(me);
    const early = await tell(me);
    expect(await next()).toEqual([early]);
    await late.query('COMMIT');
    late.release();
    expect(await next()).toEqual([lateId]);
  });
});

describe('query of live notifications', () => {
  it('reads changes from an index and no older unread rows', async () => {
    await tell(newId(), 5_000);
    const owner = new pg.Client({ connectionString: database.urls.owner });
    await owner.connect();
    await owner.query('ANALYZE notification');
    await owner.end();
    const { rows } = await jobs.platform.postgres.workerPool.query<{ now: string }>(
      'SELECT pg_current_xact_id()::text AS now',
    );
    const now = rows[0]?.now ?? '';
    await tell(newId(), 2);
    const asked = jest.spyOn(database.prisma, 'queryInWorkspace');
    const { changed } = await new NotificationsRepository(database.prisma).changedFrom(jobs.workspaceId, now, 100);
    const [, statement] = asked.mock.calls[0] ?? [];
    asked.mockRestore();
    expect(changed).toHaveLength(2);
    const values: unknown[] = statement?.values ?? [];
    const plan = await database.postgres.withWorkspaceSql(jobs.workspaceId, async (client) => {
      const explained = await client.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN (ANALYZE, TIMING OFF, BUFFERS OFF, SUMMARY OFF) ${statement?.text ?? ''}`,
        values,
      );
      return explained.rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    expect(plan).toMatch(
      /Index Scan Backward using notification_workspace_id_changed_in_idx .*actual rows=2\.00 loops=1\)\n +Index Cond: \(\(workspace_id = .*changed_in >= /,
    );
    expect(plan).not.toContain('Rows Removed');
  });
});
