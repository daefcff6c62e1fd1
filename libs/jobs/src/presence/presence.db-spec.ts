import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { createLogger, newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestJobs, type TestJobs } from '../../../../test/harness/jobs.js';
import { type NotificationStage, notificationStage } from '../../../../test/harness/notifications.js';
import { Presence } from './presence.js';
import { PresenceRepository } from './presence.repository.js';

let database: TestDatabase;
let door: TestJobs;
let stage: NotificationStage;
/** Another process that serves. */
let other: TestJobs;
let watching = new AbortController();

beforeAll(async () => {
  database = await createTestDatabase();
  door = await openTestJobs(database);
  stage = notificationStage(door);
  other = await openTestJobs(database);
});
afterEach(() => {
  watching.abort();
  watching = new AbortController();
});
afterAll(async () => {
  await other.close();
  await door.close();
  await database.close();
});

const typesOf = (told: readonly { readonly type: string }[]) => told.map(({ type }) => type);

describe('a viewer', () => {
  it('counts before it is shown anything, in every process', async () => {
    const job = await stage.startClaimed();
    await stage.watch(job.jobId, watching.signal);
    await stage.end(job);
    expect(await stage.notificationsOf(job.jobId)).toEqual([]);
  });

  it('counts until the last one of the job has left', async () => {
    const job = await stage.startClaimed();
    const here = { workspaceId: job.workspaceId, jobId: job.jobId };
    const presence = other.app.get(Presence);
    const rows = () => door.rows('SELECT 1 FROM job_viewer WHERE job_id = $1', [job.jobId]);
    await Promise.all([presence.enter(here), presence.enter(here)]);
    presence.leave(here);
    presence.leave(here);
    await presence.enter(here); // it came back at once
    const another = { ...here, jobId: newId() };
    await presence.enter(another);
    presence.leave(another);
    await eventually('what has left is gone', async () => {
      const left = await door.rows('SELECT 1 FROM job_viewer WHERE job_id = $1', [another.jobId]);
      return left.length === 0 ? true : undefined;
    });
    expect(await rows()).toHaveLength(1);
    presence.leave(here);
    await eventually('nobody watches', async () => ((await rows()).length === 0 ? true : undefined));
    await stage.end(job);
    expect(typesOf(await stage.notificationsOf(job.jobId))).toEqual(['job_completed']);
  });

  it('of a process that died counts for 45 s', async () => {
    for (const [seconds, types] of [
      [0, []],
      [46, ['job_completed']],
    ] as const) {
      const job = await stage.startClaimed();
      await door.rows(
        `INSERT INTO job_viewer (workspace_id, job_id, process, seen_at)
         VALUES ($1, $2, $3, clock_timestamp() - $4 * interval '1 s')`,
        [job.workspaceId, job.jobId, newId(), seconds],
      );
      await stage.end(job);
      expect(typesOf(await stage.notificationsOf(job.jobId))).toEqual(types);
    }
  });

  it('of another workspace does not count', async () => {
    const job = await stage.startClaimed();
    await other.app.get(Presence).enter({ workspaceId: other.workspaceId, jobId: job.jobId });
    await stage.end(job);
    expect(typesOf(await stage.notificationsOf(job.jobId))).toEqual(['job_completed']);
  });
});

describe('the presence of a process', () => {
  /** Does not wait for its time. */
  class Eager extends Presence {
    protected override readonly refreshMs = 20;
  }
  const presenceOf = () => new Eager(door.app.get(PresenceRepository), createLogger({ level: 'silent' }));

  it('is refreshed in one statement, and what others left behind is removed', async () => {
    const presence = presenceOf();
    const jobs = [newId(), newId()].map((jobId) => ({ workspaceId: door.workspaceId, jobId }));
    await Promise.all(jobs.map((job) => presence.enter(job)));
    const ids = jobs.map(({ jobId }) => jobId);
    const dead = newId();
    await door.rows(
      `INSERT INTO job_viewer (workspace_id, job_id, process, seen_at)
       VALUES ($1, $2, $2, clock_timestamp() - interval '1 h')`,
      [door.workspaceId, dead],
    );
    await door.rows(
      `UPDATE job_viewer SET seen_at = clock_timestamp() - interval '40 s' WHERE job_id = ANY($1::uuid[])`,
      [ids],
    );
    await eventually('both rows are fresh, at one instant', async () => {
      const rows = await door.rows<{ rows: number; fresh: boolean }>(
        `SELECT count(*)::int AS rows, bool_and(seen_at > clock_timestamp() - interval '30 s') AS fresh
           FROM job_viewer WHERE job_id = ANY($1::uuid[])`,
        [ids],
      );
      return rows[0]?.fresh === true && rows[0].rows === 2 ? true : undefined;
    });
    await eventually('the dead process is forgotten', async () => {
      const rows = await door.rows('SELECT 1 FROM job_viewer WHERE job_id = $1', [dead]);
      return rows.length === 0 ? true : undefined;
    });
    await presence.onModuleDestroy();
    expect(await door.rows('SELECT 1 FROM job_viewer WHERE job_id = ANY($1::uuid[])', [ids])).toEqual([]);
    expect(presence.size).toBe(0);
  });

  it('keeps no viewer waiting for a database that does not answer', async () => {
    class Impatient extends Presence {
      protected override readonly timeoutMs = 1;
    }
    const answered = Promise.withResolvers<undefined>();
    const silent = { store: () => answered.promise, forgetStale: () => answered.promise };
    const presence = new Impatient(silent as unknown as PresenceRepository, createLogger({ level: 'silent' }));
    await presence.enter({ workspaceId: door.workspaceId, jobId: newId() });
    expect(presence.size).toBe(1);
    answered.resolve(undefined);
    await presence.onModuleDestroy();
  });
});
