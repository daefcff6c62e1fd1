import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId, type Scope } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { type NotificationStage, notificationStage, scopeOfUser } from '../../../../test/harness/notifications.js';
import { Retention } from '../retention/retention.js';
import { keptPerUser, NotificationsRepository } from './notifications.repository.js';

let database: TestDatabase;
let api: TestJobs;
let stage: NotificationStage;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await openTestJobs(database);
  stage = notificationStage(api);
});
afterAll(async () => {
  await api.close();
  await database.close();
});

describe('NotificationsRepository', () => {
  const list = (scope: Scope, filter = {}, page = {}) =>
    api.app.get(NotificationsRepository).listMine(scope, filter, { limit: 10, ...page });
  /** A new user with `count` notifications, oldest first. */
  const userWith = async (count: number) => {
    const userId = newId();
    const jobIds: string[] = [];
    for (let i = 0; i < count; i++) {
      const thread = { ref: `thread ${newId()}`, createTitle: `Title ${i}` };
      const job = await stage.startClaimed({ createdBy: userId, thread });
      await stage.end(job);
      jobIds.push(job.jobId);
    }
    return { scope: scopeOfUser(api.workspaceId, userId), jobIds };
  };

  it("pages through a user's notifications, newest first, and shows them to no other user", async () => {
    const { scope, jobIds } = await userWith(3);
    const all = await list(scope);
    expect(all.map(({ jobId }) => jobId)).toEqual([...jobIds].reverse());
    expect(all[0]).toMatchObject({ type: 'job_completed', title: 'Title 2', readAt: null, rootJobId: jobIds[2] });
    const first = all[0]?.id ?? '';
    expect((await list(scope, {}, { after: first, limit: 1 })).map(({ jobId }) => jobId)).toEqual([
      jobIds[1],
      jobIds[0],
    ]);
    expect((await list(scope, {}, { after: first, reverse: true })).length).toBe(0);
    for (const stranger of [
      scopeOfUser(api.workspaceId, newId()),
      scopeOfUser(api.workspaceId, null),
      scopeOfUser(newId(), scope.userId),
    ]) {
      expect(await list(stranger)).toEqual([]);
      expect(await api.app.get(NotificationsRepository).findMine(stranger, {}, [first])).toEqual([]);
    }
  });

  it("marks one or all as read, only the caller's own", async () => {
    const { scope } = await userWith(3);
    const repository = api.app.get(NotificationsRepository);
    const [newest] = await list(scope);
    const id = newest?.id ?? '';
    expect(await repository.markRead(scopeOfUser(api.workspaceId, newId()), { id })).toBe(0);
    expect([await repository.markRead(scope, { id }), await repository.markRead(scope, { id })]).toEqual([1, 0]);
    expect((await list(scope, { read: true })).map((shown) => shown.id)).toEqual([id]);
    expect([await repository.countMine(scope, { read: false }), await repository.countMine(scope, {})]).toEqual([2, 3]);
    expect(await list(scope, { types: ['job_failed'] })).toEqual([]);
    expect(await repository.markRead(scope)).toBe(2);
    expect(await repository.countMine(scope, { read: false })).toBe(0);
  });

  it('loses the notifications of a deleted job', async () => {
    const { scope, jobIds } = await userWith(2);
    await api.rows(`UPDATE job SET finished_at = clock_timestamp() - interval '9 years' WHERE id = $1`, [jobIds[0]]);
    await database.postgres.withWorkspaceSql(api.workspaceId, (client) =>
      client.query('DELETE FROM job WHERE id = $1', [jobIds[0]]),
    );
    expect((await list(scope)).map(({ jobId }) => jobId)).toEqual([jobIds[1]]);
  });

  it('keeps only the newest notifications of each user', async () => {
    const { scope, jobIds } = await userWith(1);
    const [kept] = await list(scope);
    await api.rows(
      `INSERT INTO notification (workspace_id, id, user_id, type, job_id, interrupt_id)
       SELECT $1, ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, $2, 'input_needed', $3, gen_random_uuid()
         FROM generate_series(1, $4::int) i`,
      [api.workspaceId, scope.userId, jobIds[0], keptPerUser + 1],
    );
    const pass = () => api.app.get(Retention).pass();
    await pass();
    expect(await api.app.get(NotificationsRepository).countMine(scope, {})).toBe(keptPerUser);
    expect((await list(scope))[0]).toEqual(kept);
  });
});
