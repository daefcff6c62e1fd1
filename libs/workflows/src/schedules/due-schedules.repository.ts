import { Injectable } from '@nestjs/common';

import { newId, Postgres, type SqlClient } from '#platform';

import type { MissedPolicy, SlotPlan } from './missed-slots.js';
import type { ScheduledSlot, StopReason } from './schedule.js';

export interface ScheduleRef {
  readonly workspaceId: string;
  readonly scheduleId: string;
}

export interface SlotRef extends ScheduleRef {
  /** Ms since the epoch. */
  readonly slotAt: number;
}

/** A schedule whose slot has come; nobody else looks at it meanwhile. Instants in ms. */
export interface DueSchedule {
  readonly cron: string;
  readonly timeZone: string;
  readonly missed: MissedPolicy;
  readonly from: number;
  readonly now: number;
}

/** A start that is due, and how long it has been. */
export interface DueStart {
  readonly workflowId: string;
  readonly prompt: string;
  readonly savedBy: string;
  readonly ageMs: number;
}

/** Slots that are remembered of a schedule. */
const remembered = 200;

const dueSql = `SELECT workspace_id AS "workspaceId", id AS "scheduleId" FROM workflow_schedule
  WHERE enabled AND next_slot_at <= clock_timestamp() AND id <> ALL($2::uuid[]) ORDER BY next_slot_at LIMIT $1`;

const toStartSql = `SELECT workspace_id AS "workspaceId", schedule_id AS "scheduleId",
       (extract(epoch FROM slot_at) * 1000)::float8 AS "slotAt"
  FROM scheduled_slot WHERE status = 'due' AND try_at <= clock_timestamp() ORDER BY try_at, slot_at LIMIT $1`;

// What somebody else holds is left to them: they plan it, or change it.
const lockSql = `SELECT cron, time_zone AS "timeZone", missed, (extract(epoch FROM next_slot_at) * 1000)::float8 AS "from",
       (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
  FROM workflow_schedule WHERE workspace_id = $1 AND id = $2 AND enabled AND next_slot_at <= clock_timestamp()
   FOR NO KEY UPDATE SKIP LOCKED`;

const slotsSql = `INSERT INTO scheduled_slot (workspace_id, schedule_id, slot_at, status, try_at)
 SELECT $1, $2, to_timestamp(w.at / 1000), w.status, CASE WHEN w.status = 'due' THEN clock_timestamp() END
   FROM json_to_recordset($3::json) AS w(at float8, status text)
 ON CONFLICT DO NOTHING`;

const forgetSql = `DELETE FROM scheduled_slot WHERE workspace_id = $1 AND schedule_id = $2 AND status <> 'due' AND slot_at < (
  SELECT slot_at FROM scheduled_slot WHERE workspace_id = $1 AND schedule_id = $2 ORDER BY slot_at DESC OFFSET $3 LIMIT 1)`;

const advanceSql = `UPDATE workflow_schedule SET next_slot_at = to_timestamp($3::float8 / 1000), enabled = $3 IS NOT NULL
 WHERE workspace_id = $1 AND id = $2`;

const readSql = `SELECT f.workflow_id AS "workflowId", f.prompt, f.saved_by AS "savedBy",
       (extract(epoch FROM clock_timestamp() - s.planned_at) * 1000)::float8 AS "ageMs"
  FROM scheduled_slot s JOIN workflow_schedule f ON f.workspace_id = s.workspace_id AND f.id = s.schedule_id
 WHERE s.workspace_id = $1 AND s.schedule_id = $2 AND s.slot_at = to_timestamp($3::float8 / 1000) AND s.status = 'due'`;

const settleSql = `UPDATE scheduled_slot SET status = $4, job_id = $5, error = $6, try_at = NULL
 WHERE workspace_id = $1 AND schedule_id = $2 AND slot_at = to_timestamp($3::float8 / 1000) AND status = 'due'`;

const putOffSql = `UPDATE scheduled_slot SET error = $4, try_at = clock_timestamp() + $5::float8 * interval '1 ms'
 WHERE workspace_id = $1 AND schedule_id = $2 AND slot_at = to_timestamp($3::float8 / 1000) AND status = 'due'`;

const stopSql = `UPDATE workflow_schedule SET enabled = false, next_slot_at = NULL, stopped_because = $3,
       updated_at = clock_timestamp() WHERE workspace_id = $1 AND id = $2 AND enabled`;

const stopSlotsSql = `UPDATE scheduled_slot SET status = 'skipped', try_at = NULL
 WHERE workspace_id = $1 AND schedule_id = $2 AND status = 'due'`;

const auditSql = `INSERT INTO audit_entry (workspace_id, id, at, actor, action, subject_type, subject_id, details)
 VALUES ($1, $2, clock_timestamp(), 'system', 'schedule-stopped', 'WorkflowSchedule', $3, $4)`;

/** Schedules by their instants, by the database's clock. Found in any workspace, changed inside of their own. */
@Injectable()
export class DueSchedulesRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Those whose slot has come, the longest ago first, but for the schedules `without`. */
  async findDue(limit: number, without: readonly string[]): Promise<ScheduleRef[]> {
    const { rows } = await this.postgres.engine.query<ScheduleRef>({
      name: 'due-schedules',
      text: dueSql,
      values: [limit, without],
    });
    return rows;
  }

  /** Slots that are to start their job. */
  async findToStart(limit: number): Promise<SlotRef[]> {
    const { rows } = await this.postgres.engine.query<SlotRef>({
      name: 'due-slots',
      text: toStartSql,
      values: [limit],
    });
    return rows;
  }

  /**
   * Writes what `decide` makes of a schedule that has come: its slots, and when it comes next, at once. Does nothing when it has
   * not (any more), or when somebody else is at it.
   */
  async plan(
    { workspaceId, scheduleId }: ScheduleRef,
    decide: (due: DueSchedule) => SlotPlan | StopReason,
  ): Promise<void> {
    await this.postgres.withWorkspaceSql(workspaceId, async (client) => {
      const { rows } = await client.query<DueSchedule>(lockSql, [workspaceId, scheduleId]);
      const [due] = rows;
      if (due === undefined) return;
      const plan = decide(due);
      if (typeof plan === 'string') return stopIn(client, { workspaceId, scheduleId }, plan);
      const slots = [
        ...plan.skip.map((at) => ({ at, status: 'skipped' })),
        ...plan.start.map((at) => ({ at, status: 'due' })),
      ];
      await client.query(slotsSql, [workspaceId, scheduleId, JSON.stringify(slots)]);
      await client.query(forgetSql, [workspaceId, scheduleId, remembered - 1]);
      await client.query(advanceSql, [workspaceId, scheduleId, plan.next]);
    });
  }

  /** Null: it is not due any more. */
  async read({ workspaceId, scheduleId, slotAt }: SlotRef): Promise<DueStart | null> {
    const [row] = await this.postgres.readInWorkspace<DueStart & object>(workspaceId, {
      name: 'due-start',
      text: readSql,
      values: [workspaceId, scheduleId, slotAt],
    });
    return row ?? null;
  }

  /** The end of a start: of several that say the same of it, the first. */
  async settle(
    { workspaceId, scheduleId, slotAt }: SlotRef,
    end: { readonly jobId: string } | { readonly error: NonNullable<ScheduledSlot['error']> },
  ): Promise<void> {
    const [status, jobId, error] = 'jobId' in end ? ['started', end.jobId, null] : ['failed', null, end.error];
    const values = [workspaceId, scheduleId, slotAt, status, jobId, error === null ? null : JSON.stringify(error)];
    await this.postgres.withWorkspaceSql(workspaceId, (client) => client.query(settleSql, values));
  }

  /** It is tried again later. */
  async putOff(
    { workspaceId, scheduleId, slotAt }: SlotRef,
    { error, delayMs }: { readonly error: ScheduledSlot['error']; readonly delayMs: number },
  ): Promise<void> {
    const values = [workspaceId, scheduleId, slotAt, error === null ? null : JSON.stringify(error), delayMs];
    await this.postgres.withWorkspaceSql(workspaceId, (client) => client.query(putOffSql, values));
  }

  /** Disables it until somebody enables it again; what is due starts nothing. */
  async stop(ref: ScheduleRef, reason: StopReason): Promise<void> {
    await this.postgres.withWorkspaceSql(ref.workspaceId, (client) => stopIn(client, ref, reason));
  }
}

async function stopIn(client: SqlClient, { workspaceId, scheduleId }: ScheduleRef, reason: StopReason): Promise<void> {
  const { rowCount } = await client.query(stopSql, [workspaceId, scheduleId, reason]);
  await client.query(stopSlotsSql, [workspaceId, scheduleId]);
  if (rowCount === 0) return;
  await client.query(auditSql, [workspaceId, newId(), scheduleId, JSON.stringify({ reason })]);
}
