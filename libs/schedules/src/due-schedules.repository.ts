import { Injectable } from '@nestjs/common';

import {
  type AddressedMessage,
  appendAudit,
  idFrom,
  Prisma,
  PrismaService,
  type PrismaTransaction,
  Queues,
} from '#platform';

import type { MissedPolicy, SlotPlan } from './missed-slots.js';
import type { ScheduledSlot, ScheduleTarget, StopReason } from './schedule.js';

export interface ScheduleRef {
  readonly workspaceId: string;
  readonly scheduleId: string;
}

export interface SlotRef extends ScheduleRef {
  /** Ms since the epoch. */
  readonly slotAt: number;
}

/** A due schedule, locked by this transaction. Instants in ms since the epoch. */
export interface DueSchedule {
  readonly cron: string;
  readonly timeZone: string;
  readonly missed: MissedPolicy;
  readonly from: number;
  readonly now: number;
}

/** A due start, and its age. */
export interface DueStart {
  readonly target: ScheduleTarget;
  readonly savedBy: string;
  readonly ageMs: number;
}

/** How many slots of a schedule the database keeps. */
const remembered = 200;

/** The queue message for the slot of a schedule at `at`. The id depends on both, so the queue stores one message per slot. */
export function scheduleDue({ workspaceId, scheduleId }: ScheduleRef, at: number): AddressedMessage {
  return { queue: 'schedule.due', id: idFrom(scheduleId, at), data: { workspaceId, scheduleId }, startAfter: at };
}

/** The queue message to start the job of a slot at `at`. */
function startDue({ workspaceId, scheduleId, slotAt }: SlotRef, at: number): AddressedMessage {
  const data = { workspaceId, scheduleId, slotAt };
  return { queue: 'schedule.start', id: idFrom(scheduleId, slotAt, at), data, startAfter: at };
}

/** Finds due schedules by the database's clock, in all workspaces, and changes each within its own workspace. */
@Injectable()
export class DueSchedulesRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly queues: Queues,
  ) {}

  /** Returns the schedules with a due slot, the oldest first, except `without`. */
  findDue(limit: number, without: readonly string[]): Promise<ScheduleRef[]> {
    return this.prisma.asWorker(
      (client) => client.$queryRaw<ScheduleRef[]>`
        SELECT workspace_id AS "workspaceId", id AS "scheduleId" FROM workflow_schedule
         WHERE enabled AND next_slot_at <= clock_timestamp() AND id <> ALL(${[...without]}::uuid[])
         ORDER BY next_slot_at LIMIT ${limit}`,
    );
  }

  /** Sends the messages of the slots within the next `ms`. The queue ignores messages that it already has. */
  async announce(limit: number, ms: number): Promise<void> {
    await this.prisma.asWorker(async (client) => {
      const coming = await client.$queryRaw<(ScheduleRef & { readonly at: number })[]>`
        SELECT workspace_id AS "workspaceId", id AS "scheduleId", (extract(epoch FROM next_slot_at) * 1000)::float8 AS at
          FROM workflow_schedule
         WHERE enabled AND next_slot_at > clock_timestamp() AND next_slot_at <= clock_timestamp() + ${ms}::float8 * interval '1 ms'
         ORDER BY next_slot_at LIMIT ${limit}`;
      await this.queues.sendAll(
        client,
        coming.map(({ at, ...ref }) => scheduleDue(ref, at)),
      );
    });
  }

  /** Returns the slots whose job must start. */
  findToStart(limit: number): Promise<SlotRef[]> {
    return this.prisma.asWorker(
      (client) => client.$queryRaw<SlotRef[]>`
        SELECT workspace_id AS "workspaceId", schedule_id AS "scheduleId",
               (extract(epoch FROM slot_at) * 1000)::float8 AS "slotAt"
          FROM scheduled_slot WHERE status = 'due' AND try_at <= clock_timestamp() ORDER BY try_at, slot_at LIMIT ${limit}`,
    );
  }

  /**
   * Calls `decide` for a schedule with a due slot, and stores the result: its slots and its next instant. Waits for a transaction that has
   * locked the schedule. Does nothing if no slot is due, because its time has not come or another transaction has planned it.
   */
  async plan(ref: ScheduleRef, decide: (due: DueSchedule) => SlotPlan | StopReason): Promise<void> {
    const { workspaceId, scheduleId: id } = ref;
    await this.prisma.withWorkspace(ref, async (tx) => {
      const [due] = await tx.$queryRaw<DueSchedule[]>`
        SELECT cron, time_zone AS "timeZone", missed, (extract(epoch FROM next_slot_at) * 1000)::float8 AS "from",
               (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
          FROM workflow_schedule
         WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND enabled AND next_slot_at <= clock_timestamp()
           FOR NO KEY UPDATE`;
      if (due === undefined) return;
      const plan = decide(due);
      if (typeof plan === 'string') return stopIn(tx, ref, plan);
      await insertSlots(tx, { ...ref, now: due.now }, plan);
      const nextSlotAt = plan.next === null ? null : new Date(plan.next);
      const data = { nextSlotAt, enabled: nextSlotAt !== null };
      await tx.schedule.updateMany({ where: { workspaceId, id }, data });
      await this.queues.sendAll(tx, [
        ...plan.start.map((slotAt) => startDue({ ...ref, slotAt }, due.now)),
        ...(plan.next === null ? [] : [scheduleDue(ref, plan.next)]),
      ]);
    });
  }

  /** Returns null if the start is not due. */
  async read({ workspaceId, scheduleId, slotAt }: SlotRef): Promise<DueStart | null> {
    const [row] = await this.prisma.queryInWorkspace<DueStart>(
      { workspaceId },
      Prisma.sql`SELECT jsonb_build_object('workflowId', f.workflow_id, 'prompt', f.prompt, 'chat', f.chat) AS target, f.saved_by AS "savedBy",
          (extract(epoch FROM clock_timestamp() - s.planned_at) * 1000)::float8 AS "ageMs"
        FROM scheduled_slot s JOIN workflow_schedule f ON f.workspace_id = s.workspace_id AND f.id = s.schedule_id
       WHERE s.workspace_id = ${workspaceId}::uuid AND s.schedule_id = ${scheduleId}::uuid
         AND s.slot_at = ${new Date(slotAt)} AND s.status = 'due'`,
    );
    return row ?? null;
  }

  /** Stores the result of a start: of several results for one slot, the first counts. */
  async settle(
    slot: SlotRef,
    end: { readonly jobId: string } | { readonly error: NonNullable<ScheduledSlot['error']> },
  ): Promise<void> {
    const result = 'jobId' in end ? { status: 'started', jobId: end.jobId } : { status: 'failed', error: end.error };
    await this.change(slot, { ...result, tryAt: null });
  }

  /** Schedules another attempt. */
  async reschedule(
    slot: SlotRef,
    { error, delayMs }: { readonly error: ScheduledSlot['error']; readonly delayMs: number },
  ): Promise<void> {
    const { workspaceId, scheduleId, slotAt } = slot;
    const json = error === null ? null : JSON.stringify(error);
    await this.prisma.withWorkspace(slot, async (tx) => {
      const [row] = await tx.$queryRaw<{ at: number }[]>`
        UPDATE scheduled_slot SET error = ${json}::jsonb, try_at = clock_timestamp() + ${delayMs}::float8 * interval '1 ms'
         WHERE workspace_id = ${workspaceId}::uuid AND schedule_id = ${scheduleId}::uuid
           AND slot_at = ${new Date(slotAt)} AND status = 'due'
        RETURNING (extract(epoch FROM try_at) * 1000)::float8 AS at`;
      if (row !== undefined) await this.queues.sendAll(tx, [startDue(slot, row.at)]);
    });
  }

  /** Disables the schedule until a person enables it again. Its due slots start no job. */
  async stop(ref: ScheduleRef, reason: StopReason): Promise<void> {
    await this.prisma.withWorkspace(ref, (tx) => stopIn(tx, ref, reason));
  }

  private async change(slot: SlotRef, data: Prisma.ScheduledSlotUpdateManyMutationInput & object): Promise<void> {
    const { workspaceId, scheduleId, slotAt } = slot;
    const where = { workspaceId, scheduleId, slotAt: new Date(slotAt), status: 'due' };
    await this.prisma.withWorkspace(slot, (tx) => tx.scheduledSlot.updateMany({ where, data }));
  }
}

/** Adds the slots of a plan, and deletes the oldest beyond the number to keep. */
async function insertSlots(
  tx: PrismaTransaction,
  { now, ...key }: ScheduleRef & Pick<DueSchedule, 'now'>,
  plan: SlotPlan,
): Promise<void> {
  const tryAt = new Date(now);
  const slots = [
    ...plan.skip.map((at) => ({ ...key, slotAt: new Date(at), status: 'skipped' })),
    ...plan.start.map((at) => ({ ...key, slotAt: new Date(at), status: 'due', tryAt })),
  ];
  await tx.scheduledSlot.createMany({ data: slots, skipDuplicates: true });
  const kept = { where: key, orderBy: { slotAt: 'desc' }, skip: remembered - 1, select: { slotAt: true } } as const;
  const oldest = await tx.scheduledSlot.findFirst(kept);
  if (oldest === null) return;
  await tx.scheduledSlot.deleteMany({ where: { ...key, status: { not: 'due' }, slotAt: { lt: oldest.slotAt } } });
}

async function stopIn(
  tx: PrismaTransaction,
  { workspaceId, scheduleId }: ScheduleRef,
  reason: StopReason,
): Promise<void> {
  const stopped = { enabled: false, nextSlotAt: null, stoppedBecause: reason, updatedAt: new Date() };
  const where = { workspaceId, id: scheduleId, enabled: true };
  const { count } = await tx.schedule.updateMany({ where, data: stopped });
  const due = { workspaceId, scheduleId, status: 'due' };
  await tx.scheduledSlot.updateMany({ where: due, data: { status: 'skipped', tryAt: null } });
  if (count === 0) return;
  const subject = { subjectType: 'Schedule', subjectId: scheduleId, details: { reason } };
  await appendAudit(tx, { workspaceId, actor: 'system', action: 'schedule-stopped', ...subject });
}
