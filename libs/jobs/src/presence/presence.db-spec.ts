import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { createLogger, newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { type NotificationStage, notificationStage } from '../../../../test/harness/notifications.js';
import { Retention } from '../retention/retention.js';
import { Presence } from './presence.js';
import { PresenceRepository } from './presence.repository.js';

let database: TestDatabase;
let api: TestJobs;
let stage: NotificationStage;
/** Another API process. */
let other: TestJobs;
let watching = new AbortController();

beforeAll(async () => {
  database = await createTestDatabase();
  api = await openTestJobs(database);
  stage = notificationStage(api);
  other = await openTestJobs(database);
});
afterEach(() => {
  watching.abort();
  watching = new AbortController();
});
afterAll(async () => {
  await other.close();
  await api.close();
  await database.close();
});

const typesOf = (notifications: readonly { readonly type: string }[]) => notifications.map(({ type }) => type);

describe('a viewer', () => {
  it('suppresses the notification from its first moment, for jobs of every process', async () => {
    const job = await stage.startClaimed();
    await stage.watch(job.jobId, watching.signal);
    await stage.end(job);
    expect(await stage.notificationsOf(job.jobId)).toEqual([]);
  });

  it('suppresses the notification until the last viewer of the job has left', async () => {
    const job = await stage.startClaimed();
    const here = { workspaceId: job.workspaceId, jobId: job.jobId };
    const presence = other.app.get(Presence);
    const rows = () => api.rows('SELECT 1 FROM job_viewer WHERE job_id = $1', [job.jobId]);
    await Promise.all([presence.enter(here), presence.enter(here)]);
    presence.leave(here);
    presence.leave(here);
    await presence.enter(here); // it reconnected at once
    const another = { ...here, jobId: newId() };
    await presence.enter(another);
    presence.leave(another);
    await eventually('the row of the viewer that left is deleted', async () => {
      const left = await api.rows('SELECT 1 FROM job_viewer WHERE job_id = $1', [another.jobId]);
      return left.length === 0 ? true : undefined;
    });
    expect(await rows()).toHaveLength(1);
    presence.leave(here);
    await eventually('the job has no viewer', async () => ((await rows()).length === 0 ? true : undefined));
    await stage.end(job);
    expect(typesOf(await stage.notificationsOf(job.jobId))).toEqual(['job_completed']);
  });

  it('of a dead process suppresses the notification for 45 s', async () => {
    for (const [seconds, types] of [
      [0, []],
      [46, ['job_completed']],
    ] as const) {
      const job = await stage.startClaimed();
      await api.rows(
        `INSERT INTO job_viewer (workspace_id, job_id, process, seen_at)
         VALUES ($1, $2, $3, clock_timestamp() - $4 * interval '1 s')`,
        [job.workspaceId, job.jobId, newId(), seconds],
      );
      await stage.end(job);
      expect(typesOf(await stage.notificationsOf(job.jobId))).toEqual(types);
    }
  });

  it('of another workspace does not suppress the notification', async () => {
    const job = await stage.startClaimed();
    await other.app.get(Presence).enter({ workspaceId: other.workspaceId, jobId: job.jobId });
    await stage.end(job);
    expect(typesOf(await stage.notificationsOf(job.jobId))).toEqual(['job_completed']);
  });
});

describe('Presence', () => {
  /** A presence that refreshes its rows every 20 ms. */
  class Eager extends Presence {
    protected override readonly refreshMs = 20;
  }
  const presenceOf = () => new Eager(api.app.get(PresenceRepository), createLogger({ level: 'silent' }));

  it('refreshes its rows in one statement, and retention deletes stale rows of other processes', async () => {
    const presence = presenceOf();
    const jobs = [newId(), newId()].map((jobId) => ({ workspaceId: api.workspaceId, jobId }));
    await Promise.all(jobs.map((job) => presence.enter(job)));
    const ids = jobs.map(({ jobId }) => jobId);
    const dead = newId();
    await api.rows(
      `INSERT INTO job_viewer (workspace_id, job_id, process, seen_at)
       VALUES ($1, $2, $2, clock_timestamp() - interval '1 h')`,
      [api.workspaceId, dead],
    );
    await api.rows(
      `UPDATE job_viewer SET seen_at = clock_timestamp() - interval '40 s' WHERE job_id = ANY($1::uuid[])`,
      [ids],
    );
    await eventually('both rows are fresh, at one instant', async () => {
      const rows = await api.rows<{ rows: number; fresh: boolean }>(
        `SELECT count(*)::int AS rows, bool_and(seen_at > clock_timestamp() - interval '30 s') AS fresh
           FROM job_viewer WHERE job_id = ANY($1::uuid[])`,
        [ids],
      );
      return rows[0]?.fresh === true && rows[0].rows === 2 ? true : undefined;
    });
    await api.app.get(Retention).pass();
    const stored = await api.rows<{ id: string }>(
      'SELECT job_id AS id FROM job_viewer WHERE job_id = ANY($1::uuid[])',
      [[...ids, dead]],
    );
    expect(stored.map(({ id }) => id).sort()).toEqual([...ids].sort());
    await presence.onModuleDestroy();
    expect(await api.rows('SELECT 1 FROM job_viewer WHERE job_id = ANY($1::uuid[])', [ids])).toEqual([]);
    expect(presence.size).toBe(0);
  });

  it('records a viewer again soon after a write has failed, not only at the next refresh', async () => {
    class SoonAgain extends Presence {
      protected override readonly refreshMs = 3_600_000;
      protected override readonly retryMs = 20;
    }
    const [repository, job] = [api.app.get(PresenceRepository), { workspaceId: api.workspaceId, jobId: newId() }];
    let isDown = true;
    const unreliable: Pick<PresenceRepository, 'store'> = {
      store: (...written) => (isDown ? Promise.reject(new Error('down')) : repository.store(...written)),
    };
    const presence = new SoonAgain(unreliable as PresenceRepository, createLogger({ level: 'silent' }));
    await presence.enter(job);
    isDown = false;
    await eventually('the viewer is recorded', async () => {
      const rows = await api.rows('SELECT 1 FROM job_viewer WHERE job_id = $1', [job.jobId]);
      return rows.length === 1 ? true : undefined;
    });
    await presence.onModuleDestroy();
  });

  it('admits a viewer when the database does not respond', async () => {
    class ShortTimeout extends Presence {
      protected override readonly timeoutMs = 1;
    }
    const answered = Promise.withResolvers<undefined>();
    const silent = { store: () => answered.promise };
    const presence = new ShortTimeout(silent as unknown as PresenceRepository, createLogger({ level: 'silent' }));
    await presence.enter({ workspaceId: api.workspaceId, jobId: newId() });
    expect(presence.size).toBe(1);
    answered.resolve(undefined);
    await presence.onModuleDestroy();
  });
});
