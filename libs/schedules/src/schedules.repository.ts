import { Injectable } from '@nestjs/common';

import {
  isId,
  type Prisma,
  type PrismaTransaction,
  Queues,
  type ScheduledSlotRow,
  type ScheduleRow,
  type Scope,
} from '#platform';

import { scheduleDue, type ScheduleRef } from './due-schedules.repository.js';
import type { MissedPolicy } from './missed-slots.js';
import type {
  Schedule,
  ScheduledChat,
  ScheduledSlot,
  ScheduleKind,
  ScheduleTarget,
  ScheduleTerms,
  SlotStatus,
  StopReason,
} from './schedule.js';

/** A page of a list, and its filter. */
export interface SchedulePage {
  readonly kind: ScheduleKind;
  /** The server id of the workflow; null: of every workflow, or of chats. */
  readonly workflowId: string | null;
  readonly take: number;
  readonly after: string | undefined;
}

/** A schedule to store. */
export interface SavedRow extends Pick<Schedule, 'id' | 'name' | 'nextSlotAt'> {
  readonly target: ScheduleTarget;
  readonly terms: ScheduleTerms;
}

/** The principal whose rights a schedule uses. */
export type Responsible = Pick<Schedule, 'savedBy' | 'userId'>;

/** The schedules of a workspace, and the results of their slots. */
@Injectable()
export class SchedulesRepository {
  constructor(private readonly queues: Queues) {}

  /** Reads the database's clock, which decides when a slot is due. */
  async now(tx: PrismaTransaction): Promise<number> {
    const [row] = await tx.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
    if (row === undefined) throw new Error('the database has no clock');
    return row.now.getTime();
  }

  /** Newest first. */
  async list(tx: PrismaTransaction, scope: Scope, page: SchedulePage): Promise<Schedule[]> {
    const workflow = page.workflowId === null ? {} : { workflowId: page.workflowId };
    const before = page.after === undefined ? {} : { id: { lt: page.after } };
    const where = { AND: [readable(scope), ofKind(page.kind), workflow, before] };
    const rows = await tx.schedule.findMany({ where, orderBy: { id: 'desc' }, take: page.take });
    return rows.map(toSchedule);
  }

  count(tx: PrismaTransaction, scope: Scope): Promise<number> {
    return tx.schedule.count({ where: readable(scope) });
  }

  /** Returns null if the schedule does not exist, its workflow was deleted, or the caller may not read it. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<Schedule | null> {
    if (!isId(id)) return null;
    const row = await tx.schedule.findFirst({ where: { AND: [readable(scope), { id }] } });
    return row === null ? null : toSchedule(row);
  }

  /** The schedule with this name. Names are unique in the workspace. */
  async named(tx: PrismaTransaction, { workspaceId }: Scope, name: string): Promise<Schedule | null> {
    const row = await tx.schedule.findFirst({ where: { workspaceId, name } });
    return row === null ? null : toSchedule(row);
  }

  async create(
    tx: PrismaTransaction,
    { workspaceId, principal, userId }: Scope,
    { id, name, target, terms, nextSlotAt }: SavedRow,
  ): Promise<void> {
    const data = { id, name, ...terms, ...toColumns(target), nextSlotAt: toDate(nextSlotAt) };
    await tx.schedule.create({ data: { workspaceId, createdBy: principal, savedBy: principal, userId, ...data } });
    await this.announce(tx, { workspaceId, scheduleId: id }, nextSlotAt);
  }

  /** `responsible`: the principal whose rights it uses from now on. */
  async change(
    tx: PrismaTransaction,
    scope: Scope,
    { id, name, target, terms, nextSlotAt, responsible }: SavedRow & { readonly responsible: Responsible },
  ): Promise<void> {
    const changed = { name, ...responsible, stoppedBecause: null, updatedAt: new Date() };
    const data = { ...terms, ...toColumns(target), ...changed, nextSlotAt: toDate(nextSlotAt) };
    await tx.schedule.updateMany({ where: { AND: [readable(scope), { id }] }, data });
    await this.announce(tx, { workspaceId: scope.workspaceId, scheduleId: id }, nextSlotAt);
  }

  /** Skips the slots that are due and have not started their job. */
  async skipDue(tx: PrismaTransaction, { workspaceId }: Scope, scheduleId: string): Promise<void> {
    const where = { workspaceId, scheduleId, status: 'due' };
    await tx.scheduledSlot.updateMany({ where, data: { status: 'skipped', tryAt: null } });
  }

  async remove(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    await tx.schedule.deleteMany({ where: { AND: [readable(scope), { id }] } });
  }

  /** The last slots, newest first. */
  async slots(
    tx: PrismaTransaction,
    scope: Scope,
    { id, take }: { id: string; take: number },
  ): Promise<ScheduledSlot[]> {
    const where = { scheduleId: id, workspaceId: scope.workspaceId, schedule: { is: readable(scope) } };
    const rows = await tx.scheduledSlot.findMany({ where, orderBy: { slotAt: 'desc' }, take });
    return rows.map(toSlot);
  }

  /** Sends the queue message of the next slot. */
  private async announce(tx: PrismaTransaction, ref: ScheduleRef, at: number | null): Promise<void> {
    if (at !== null) await this.queues.sendAll(tx, [scheduleDue(ref, at)]);
  }
}

/** Principals that may read a workflow may read its schedules. */
function readable(scope: Scope): Prisma.ScheduleWhereInput {
  const { workspaceId } = scope;
  const ofWorkflows = { workflow: { is: { AND: [scope.where('Workflow'), { deletedAt: null }] } } };
  return { workspaceId, OR: [ofWorkflows, { AND: [scope.where('Schedule'), ofKind('chat')] }] };
}

function ofKind(kind: ScheduleKind): Prisma.ScheduleWhereInput {
  return { workflowId: kind === 'chat' ? null : { not: null } };
}

function toColumns({ workflowId, prompt, chat }: ScheduleTarget) {
  return { workflowId, prompt, ...(chat === null ? {} : { chat: chat as unknown as Prisma.InputJsonObject }) }; // plain data
}

function toDate(instant: number | null): Date | null {
  return instant === null ? null : new Date(instant);
}

function toTarget({ workflowId, prompt, chat }: ScheduleRow): ScheduleTarget {
  return workflowId === null
    ? { workflowId, prompt: '', chat: chat as unknown as ScheduledChat } // the table has a check constraint
    : { workflowId, prompt, chat: null };
}

function toSchedule(row: ScheduleRow): Schedule {
  const { id, name, cron, timeZone, enabled, createdBy, savedBy, userId } = row;
  return {
    ...{ id, name, cron, timeZone, enabled, createdBy, savedBy, userId },
    ...toTarget(row),
    missed: row.missed as MissedPolicy, // the table has a check constraint
    stoppedBecause: row.stoppedBecause as StopReason | null, // only this server writes it
    nextSlotAt: row.nextSlotAt?.getTime() ?? null,
    createdAt: row.createdAt.getTime(),
    updatedAt: row.updatedAt.getTime(),
  };
}

function toSlot({ slotAt, status, jobId, error }: ScheduledSlotRow): ScheduledSlot {
  return {
    slotAt: slotAt.getTime(),
    status: status as SlotStatus, // the table has a check constraint
    jobId,
    error:
      error === null ? null : { retryable: false, ...(error as { readonly code: string; readonly message: string }) }, // an earlier version stored it without `retryable`
  };
}
