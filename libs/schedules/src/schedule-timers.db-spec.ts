import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { newId, Queues } from '#platform';
import { StartWorkflowService, WorkflowsService } from '#workflows';

import { createTestDatabase, type TestDatabase } from '../../../test/harness/database.js';
import { startTestEngine, type TestEngine } from '../../../test/harness/engine.js';
import { eventually } from '../../../test/harness/eventually.js';
import { openTestIdentities, type TestIdentities } from '../../../test/harness/identities.js';
import { publish, sketch } from '../../../test/harness/workflows.js';
import type { Schedule } from './schedule.js';
import { ScheduleTimers } from './schedule-timers.js';
import { SchedulesService } from './schedules.service.js';

const env = { MODEL_BASE_URL: 'http://127.0.0.1:9/v1', LOG_LEVEL: 'silent' };
const echo = (name: string) => sketch({ out: { type: 'output', format: 'text' } }, ['start -> out'], { name });

let database: TestDatabase;
let identities: TestIdentities;
let engine: TestEngine;
/** Another worker over the same tables. */
let other: TestEngine;
let here: Record<Role, MemberPrincipal>;
let workflowRef: string;
/** Half an hour from now: no slot comes by itself while a test runs. */
let minute: number;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  engine = await startTestEngine(database, env, false);
  other = await startTestEngine(database, env, false);
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
  minute = (new Date().getUTCMinutes() + 30) % 60;
  ({ id: workflowRef } = await publish(engine, here.owner, echo('Echo')));
});
afterAll(async () => {
  await other.close();
  await engine.close();
  identities.auth.close();
  await database.close();
});

const service = () => engine.app.get(SchedulesService);
const cron = () => `${minute} * * * *`;
const schedule = (change: object = {}, who = here.admin): Promise<Schedule> =>
  service().save(who, {
    ...{ id: null, workflowRef, cron: cron(), timeZone: 'UTC', missed: 'all', prompt: 'Hello', enabled: true },
    ...change,
  });
const sql = <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
  database.postgres.withWorkspaceSql(here.owner.workspaceId, async (client) => {
    const { rows } = await client.query<Row & Record<string, unknown>>(text, [...values]);
    return rows;
  });
/** The database's clock cannot be turned: the schedule is turned back instead, by `hours` from its last slot. */
const turnBack = ({ id }: Schedule, hours: number) =>
  sql(
    `UPDATE workflow_schedule SET next_slot_at = date_trunc('hour', clock_timestamp() - $3 * interval '1 minute')
       + $3 * interval '1 minute' - $2 * interval '1 hour' WHERE id = $1`,
    [id, hours, minute],
  );
const look = (...engines: readonly TestEngine[]) =>
  Promise.all(engines.map(({ app }) => app.get(ScheduleTimers).sweep()));
const jobs = () =>
  sql<{ id: string; principal: string; created_by: string | null; input: { prompt: string } }>(
    'SELECT id, principal, created_by, workflow_version, input, idempotency_key FROM job ORDER BY created_at, id',
  );
const another = () => ({ workflowRef, prompt: 'Hi', idempotency: null });
const startOther = () => engine.app.get(StartWorkflowService).startUnattended(here.owner.workspaceId, another());
/** The only place of the workspace is taken by another job. */
const takeAllRoom = async () => {
  await startOther();
  await sql(`UPDATE workspace SET max_jobs = 1, when_full = 'reject'`);
};
const statuses = async ({ id }: Schedule) =>
  (await service().slots(here.viewer, id, 200)).map(({ status }) => status).toReversed();

describe('a schedule', () => {
  it('starts a job of the published version, as the system principal and without an owner', async () => {
    const saved = await schedule();
    await look(engine);
    expect(await jobs()).toEqual([]);
    await turnBack(saved, 0);
    await look(engine);
    const [job] = await jobs();
    expect(job).toMatchObject({
      principal: 'system',
      created_by: null,
      workflow_version: 1,
      input: { prompt: 'Hello' },
    });
    const [slot] = await service().slots(here.viewer, saved.id, 5);
    expect(slot).toMatchObject({ status: 'started', jobId: job?.id, error: null });
    expect((slot?.slotAt ?? 1) % 3_600_000).toBe(minute * 60_000);
    const { nextSlotAt } = await service().get(here.viewer, saved.id);
    expect((nextSlotAt ?? 0) - (slot?.slotAt ?? 0)).toBe(3_600_000);
    await look(engine);
    expect(await jobs()).toHaveLength(1);
  });

  it('starts no job while BACKGROUND_JOBS_ENABLED is false, and stores the reason in the slot', async () => {
    const foreground = await startTestEngine(database, { ...env, BACKGROUND_JOBS_ENABLED: 'false' }, false);
    const saved = await schedule();
    await turnBack(saved, 0);
    await look(foreground).finally(() => foreground.close());
    const [slot] = await service().slots(here.viewer, saved.id, 5);
    expect(slot).toMatchObject({ jobId: null, error: { code: 'background_jobs_off' } });
  });

  it('starts a chat with the current rights of the member that saved the schedule', async () => {
    const saved = await service().saveChat(here.member, {
      ...{ id: null, cron: cron(), timeZone: 'UTC', missed: 'all', enabled: true },
      chat: {
        ...{ threadRef: 'daily', model: 'm', tools: ['calculate'], parameters: { temperature: 0 } },
        messages: [{ role: 'user', content: 'Good morning' }],
      },
    });
    await turnBack(saved, 1);
    await look(engine, other);
    const started = await sql<{ thread_id: string }>(
      'SELECT kind, principal, created_by, in_line, thread_id, input FROM job ORDER BY in_line',
    );
    const job = { kind: 'chat', principal: here.member.id, created_by: here.member.userId };
    const input = { messages: [{ role: 'user', content: 'Good morning' }], tools: ['calculate'] };
    expect(started).toMatchObject([
      { ...job, in_line: false, input },
      { ...job, in_line: true, thread_id: started[0]?.thread_id },
    ]);
  });

  it('disables a chat schedule when its member may no longer start jobs', async () => {
    const messages = [{ role: 'user', content: 'Hello' }] as const;
    const saved = await service().saveChat(here.member, {
      ...{ id: null, cron: cron(), timeZone: 'UTC', missed: 'all', enabled: true },
      chat: { threadRef: null, model: 'm', messages, tools: [], parameters: {} },
    });
    const { userId } = here.member;
    await identities.auth.members.changeRole(here.owner, { userId, role: 'viewer' });
    await turnBack(saved, 0);
    await look(engine);
    const stopped = { enabled: false, stoppedBecause: 'right_lost' };
    expect(await service().get(here.viewer, saved.id, 'chat')).toMatchObject(stopped);
    expect(await jobs()).toEqual([]);
  });

  it('starts one job for each slot when two workers process it concurrently', async () => {
    const saved = await Promise.all(Array.from({ length: 5 }, () => schedule()));
    for (const each of saved) await turnBack(each, 9);
    await look(engine, other, engine, other);
    await look(engine, other);
    const started = await jobs();
    expect(started).toHaveLength(50);
    const slots = await sql<{ job_id: string }>('SELECT job_id FROM scheduled_slot');
    expect(new Set(slots.map(({ job_id: id }) => id))).toEqual(new Set(started.map(({ id }) => id)));
  });

  it('plans a slot whose row is locked when it comes, without another sweep', async () => {
    const saved = await schedule();
    await turnBack(saved, 0);
    let swept: Promise<unknown> = Promise.resolve();
    await database.postgres.withWorkspaceSql(here.owner.workspaceId, async (client) => {
      await client.query('SELECT 1 FROM workflow_schedule WHERE id = $1 FOR UPDATE', [saved.id]);
      swept = look(engine);
      await eventually('the sweep waits for the row', async () => {
        const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        return (await sql(waiting)).length > 0 ? true : undefined;
      });
    });
    await swept;
    expect(await statuses(saved)).toEqual(['started']);
  });

  it('starts no second job for a slot whose worker died right after the start', async () => {
    const saved = await schedule();
    await turnBack(saved, 0);
    await look(engine);
    await sql(`UPDATE scheduled_slot SET status = 'due', job_id = NULL, try_at = clock_timestamp()`);
    await schedule({ id: saved.id, prompt: 'Something else' });
    await look(other);
    const [job, ...more] = await jobs();
    expect(more).toEqual([]);
    expect(await service().slots(here.viewer, saved.id, 5)).toMatchObject([{ status: 'started', jobId: job?.id }]);
  });

  it('applies its `missed` policy to missed slots', async () => {
    const all = await schedule({ missed: 'all' });
    const once = await schedule({ missed: 'once' });
    const skip = await schedule({ missed: 'skip' });
    for (const each of [all, once, skip]) await turnBack(each, 3);
    await look(engine);
    expect(await statuses(all)).toEqual(['started', 'started', 'started', 'started']);
    expect(await statuses(once)).toEqual(['skipped', 'skipped', 'skipped', 'started']);
    expect(new Set(await statuses(skip))).toEqual(new Set(['skipped']));
    expect(await jobs()).toHaveLength(5);
  });

  it('starts 24 jobs for a missed month, and plans the next slot', async () => {
    const saved = await schedule();
    await turnBack(saved, 30 * 24);
    await look(engine);
    expect(await jobs()).toHaveLength(24);
    const { nextSlotAt } = await service().get(here.viewer, saved.id);
    expect(nextSlotAt).toBeGreaterThan(Date.now());
  });

  it('starts no job while it is disabled, nor for these slots afterwards', async () => {
    const saved = await schedule();
    await service().setEnabled(here.admin, saved.id, { enabled: false });
    await turnBack(saved, 5);
    await look(engine);
    expect(await service().setEnabled(here.admin, saved.id, { enabled: true })).toMatchObject({ enabled: true });
    await look(engine);
    expect([await jobs(), await statuses(saved)]).toEqual([[], []]);
  });

  it('starts no job for a slot that was due when it was disabled', async () => {
    const saved = await schedule();
    await turnBack(saved, 0);
    await takeAllRoom();
    await look(engine);
    expect(await service().slots(here.viewer, saved.id, 5)).toMatchObject([
      { status: 'due', error: { code: 'job_limit_reached', retryable: expect.any(Boolean) } },
    ]);
    await service().setEnabled(here.admin, saved.id, { enabled: false });
    expect(await statuses(saved)).toEqual(['skipped']);
  });

  it('retries a start for an hour while the workspace is full', async () => {
    const saved = await schedule();
    await turnBack(saved, 1);
    await takeAllRoom();
    await look(engine);
    await look(engine);
    expect(await statuses(saved)).toEqual(['due', 'due']);
    const again = `UPDATE scheduled_slot SET try_at = clock_timestamp(), planned_at = clock_timestamp() - $1::interval`;
    await sql(`${again} WHERE slot_at = (SELECT min(slot_at) FROM scheduled_slot)`, ['2 hours']);
    await look(engine);
    expect(await statuses(saved)).toEqual(['failed', 'due']);
    await sql('UPDATE workspace SET max_jobs = 2');
    const ended = await eventually('the slot that waits was not put off again by a busy database', async () => {
      await sql(`${again} WHERE status = 'due'`, ['30 minutes']);
      await look(engine);
      return (await statuses(saved)).includes('due') ? undefined : statuses(saved);
    });
    expect(ended).toEqual(['failed', 'started']);
  });

  it('records why a slot started no job, and starts the next slot', async () => {
    const { id } = await engine.app
      .get(WorkflowsService)
      .save(here.owner, { id: null, definition: echo('Draft'), expectedVersion: null });
    const saved = await schedule({ workflowRef: id });
    await turnBack(saved, 0);
    await look(engine);
    const expected = { status: 'failed', jobId: null, error: { code: 'workflow_not_published' } };
    expect(await service().slots(here.viewer, saved.id, 5)).toMatchObject([expected]);
    await engine.app.get(WorkflowsService).publish(here.owner, id);
    await turnBack(saved, 1);
    await look(engine);
    expect(await statuses(saved)).toEqual(['started', 'failed']);
  });

  it('disappears with its workflow, and so do its starts', async () => {
    const saved = await schedule();
    await turnBack(saved, 0);
    await engine.app.get(WorkflowsService).remove(here.admin, workflowRef);
    await look(engine);
    expect(await jobs()).toEqual([]);
    await expect(service().get(here.admin, saved.id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await sql('SELECT 1 FROM workflow_schedule')).toEqual([]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['was removed', () => identities.auth.members.remove(here.owner, here.admin.userId)],
    [
      'may not manage workflows any more',
      () => identities.auth.members.changeRole(here.owner, { userId: here.admin.userId, role: 'member' }),
    ],
  ])('stops when the member who set it %s, until another member enables it', async (_what, revoke) => {
    const saved = await schedule();
    await turnBack(saved, 0);
    await revoke();
    await look(engine);
    expect(await jobs()).toEqual([]);
    expect(await statuses(saved)).toEqual(['skipped']);
    const stopped = { enabled: false, stoppedBecause: 'right_lost', nextSlotAt: null };
    expect(await service().get(here.viewer, saved.id)).toMatchObject(stopped);
    const audited = `SELECT actor FROM audit_entry WHERE action = 'schedule-stopped'`;
    expect(await sql(audited)).toEqual([{ actor: 'system' }]);
    const enabled = { enabled: true, stoppedBecause: null, savedBy: here.owner.id };
    expect(await service().setEnabled(here.owner, saved.id, { enabled: true })).toMatchObject(enabled);
    await turnBack(saved, 0);
    await sql('DELETE FROM scheduled_slot');
    await look(engine);
    expect(await jobs()).toHaveLength(1);
  });

  it('stops when its time zone is no longer known', async () => {
    const saved = await schedule();
    await turnBack(saved, 0);
    await sql(`UPDATE workflow_schedule SET time_zone = 'Mars/Phobos'`);
    await look(engine);
    expect(await service().get(here.viewer, saved.id)).toMatchObject({ stoppedBecause: 'time_zone_unknown' });
    expect(await jobs()).toEqual([]);
  });

  it('starts its jobs although a hundred older schedules fail, and retries those in the next sweep', async () => {
    const saved = await schedule();
    await turnBack(saved, 0);
    await sql(
      `INSERT INTO workflow_schedule SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(),
         'cron', 'broken', 'next_slot_at', s.next_slot_at - interval '1 hour'))).* FROM workflow_schedule s, generate_series(1, 100)`,
    );
    try {
      await look(engine);
      expect(await jobs()).toHaveLength(1);
      await sql(`UPDATE workflow_schedule SET cron = $1 WHERE cron = 'broken'`, [cron()]);
      await look(engine);
      expect((await jobs()).length).toBeGreaterThan(1);
    } finally {
      await sql('DELETE FROM workflow_schedule');
    }
  });

  it('keeps its last 200 slots', async () => {
    const saved = await schedule({ missed: 'once' });
    const old = `INSERT INTO scheduled_slot (workspace_id, schedule_id, slot_at, status)
      SELECT $1, $2, clock_timestamp() - n * interval '1 day', 'skipped' FROM generate_series(1, 300) AS n`;
    await sql(old, [here.owner.workspaceId, saved.id]);
    await turnBack(saved, 0);
    await look(engine);
    expect(await sql('SELECT count(*)::int AS n FROM scheduled_slot')).toEqual([{ n: 200 }]);
  });
});

describe('a schedule with queue messages', () => {
  const messages = async (queue: string, scheduleId: string) => {
    const sent = `SELECT state, (extract(epoch FROM start_after) * 1000)::float8 AS at FROM pgboss.job
      WHERE name = $1 AND data->>'scheduleId' = $2 ORDER BY start_after`;
    return (await database.postgres.workerPool.query<{ state: string; at: number }>(sent, [queue, scheduleId])).rows;
  };
  /** Sends a message that a slot has come. */
  const announce = ({ id: scheduleId }: Schedule) => {
    const { workspaceId } = here.owner;
    const message = { queue: 'schedule.due', data: { workspaceId, scheduleId } } as const;
    return database.prisma.withWorkspace({ workspaceId }, (tx) => engine.app.get(Queues).sendAll(tx, [message]));
  };
  const timers = () => [engine, other].map(({ app }) => app.get(ScheduleTimers));

  afterEach(async () => {
    for (const each of timers()) await each.stop();
    await database.postgres.workerPool.query('DELETE FROM pgboss.job');
  });

  it('sends one message for a slot that it announces several times', async () => {
    const { id, nextSlotAt } = await schedule();
    await service().setEnabled(here.admin, id, { enabled: true });
    expect(await messages('schedule.due', id)).toEqual([{ state: 'created', at: nextSlotAt }]);
  });

  it('gets a new message from the sweep for a slot whose message was lost', async () => {
    const { id } = await schedule();
    await database.postgres.workerPool.query('DELETE FROM pgboss.job');
    await sql(`UPDATE workflow_schedule SET next_slot_at = clock_timestamp() + interval '1 minute' WHERE id = $1`, [
      id,
    ]);
    await look(engine);
    expect(await messages('schedule.due', id)).toMatchObject([{ state: 'created' }]);
  });

  it('starts one job for each slot with two workers, and announces the next slot', async () => {
    const saved = await Promise.all(Array.from({ length: 5 }, () => schedule()));
    for (const each of saved) await turnBack(each, 2);
    for (const each of [...saved, ...saved]) await announce(each);
    await Promise.all(timers().map((each) => each.start()));
    await eventually('every slot has started its job', async () => {
      const slots = await sql(`SELECT 1 FROM scheduled_slot WHERE status = 'started'`);
      return slots.length === 15 ? true : undefined;
    });
    expect(await jobs()).toHaveLength(15);
    for (const { id, nextSlotAt } of saved)
      expect(await messages('schedule.due', id)).toContainEqual({ state: 'created', at: nextSlotAt });
  });

  it('retries a start while the workspace is full', async () => {
    const saved = await schedule();
    await turnBack(saved, 0);
    await takeAllRoom();
    await look(engine);
    const again = (await messages('schedule.start', saved.id)).at(-1);
    expect(again?.state).toBe('created');
    expect(again?.at).toBeGreaterThan(Date.now() + 20_000);
  });
});

describe('an unattended start', () => {
  it('creates a job without thread and owner', async () => {
    expect([(await startOther()).threadId, (await jobs())[0]?.created_by]).toEqual([null, null]);
  });
});
