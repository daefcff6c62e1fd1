import { Injectable } from '@nestjs/common';

import {
  isId,
  type Prisma,
  type PrismaTransaction,
  Queues,
  type ScheduledSlotRow,
  type Scope,
  type WorkflowScheduleRow,
} from '#platform';

import { scheduleDue, type ScheduleRef } from './due-schedules.repository.js';
import type { MissedPolicy } from './missed-slots.js';
import type { ScheduledSlot, ScheduleTerms, SlotStatus, StopReason, WorkflowSchedule } from './schedule.js';

/** Which part of a list. */
export interface SchedulePage {
  /** Our id; null: of every workflow. */
  readonly workflowId: string | null;
  readonly take: number;
  readonly after: string | undefined;
}

/** The schedules of a workspace, and what became of their slots. */
@Injectable()
export class SchedulesRepository {
  constructor(private readonly queues: Queues) {}

  /** By the database's clock, which decides when slots come. */
  async now(tx: PrismaTransaction): Promise<number> {
    const [row] = await tx.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
    if (row === undefined) throw new Error('the database has no clock');
    return row.now.getTime();
  }

  /** Newest first. */
  async list(tx: PrismaTransaction, scope: Scope, page: SchedulePage): Promise<WorkflowSchedule[]> {
    const workflow = page.workflowId === null ? {} : { workflowId: page.workflowId };
    const before = page.after === undefined ? {} : { id: { lt: page.after } };
    const where = { AND: [readable(scope), workflow, before] };
    const rows = await tx.workflowSchedule.findMany({ where, orderBy: { id: 'desc' }, take: page.take });
    return rows.map(toSchedule);
  }

  count(tx: PrismaTransaction, scope: Scope): Promise<number> {
    return tx.workflowSchedule.count({ where: readable(scope) });
  }

  /** Null: absent, of a deleted workflow, or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<WorkflowSchedule | null> {
    if (!isId(id)) return null;
    const row = await tx.workflowSchedule.findFirst({ where: { AND: [readable(scope), { id }] } });
    return row === null ? null : toSchedule(row);
  }

  /** The schedule with this name. Names are unique in the workspace. */
  async named(tx: PrismaTransaction, { workspaceId }: Scope, name: string): Promise<WorkflowSchedule | null> {
    const row = await tx.workflowSchedule.findFirst({ where: { workspaceId, name } });
    return row === null ? null : toSchedule(row);
  }

  async create(
    tx: PrismaTransaction,
    { workspaceId, principal }: Scope,
    schedule: ScheduleTerms & Pick<WorkflowSchedule, 'id' | 'name' | 'workflowId' | 'nextSlotAt'>,
  ): Promise<void> {
    const data = { ...schedule, nextSlotAt: toDate(schedule.nextSlotAt) };
    await tx.workflowSchedule.create({ data: { workspaceId, createdBy: principal, savedBy: principal, ...data } });
    await this.announce(tx, { workspaceId, scheduleId: schedule.id }, schedule.nextSlotAt);
  }

  /** The principal who changes a schedule becomes responsible for it. */
  async change(
    tx: PrismaTransaction,
    scope: Scope,
    {
      id,
      name,
      terms,
      nextSlotAt,
    }: Pick<WorkflowSchedule, 'id' | 'name' | 'nextSlotAt'> & { readonly terms: ScheduleTerms },
  ): Promise<void> {
    const changed = { name, savedBy: scope.principal, stoppedBecause: null, updatedAt: new Date() };
    const data = { ...terms, ...changed, nextSlotAt: toDate(nextSlotAt) };
    await tx.workflowSchedule.updateMany({ where: { AND: [readable(scope), { id }] }, data });
    await this.announce(tx, { workspaceId: scope.workspaceId, scheduleId: id }, nextSlotAt);
  }

  /** Slots that are due and have not started their job. */
  async skipDue(tx: PrismaTransaction, { workspaceId }: Scope, scheduleId: string): Promise<void> {
    const where = { workspaceId, scheduleId, status: 'due' };
    await tx.scheduledSlot.updateMany({ where, data: { status: 'skipped', tryAt: null } });
  }

  async remove(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    await tx.workflowSchedule.deleteMany({ where: { AND: [readable(scope), { id }] } });
  }

  /** The last slots that came, newest first. */
  async slots(
    tx: PrismaTransaction,
    scope: Scope,
    { id, take }: { id: string; take: number },
  ): Promise<ScheduledSlot[]> {
    const where = { scheduleId: id, workspaceId: scope.workspaceId, schedule: { is: readable(scope) } };
    const rows = await tx.scheduledSlot.findMany({ where, orderBy: { slotAt: 'desc' }, take });
    return rows.map(toSlot);
  }

  /** Sends the message of the next slot. */
  private async announce(tx: PrismaTransaction, ref: ScheduleRef, at: number | null): Promise<void> {
    if (at !== null) await this.queues.sendAll(tx, [scheduleDue(ref, at)]);
  }
}

/** Who may read a workflow may read when it runs. */
function readable(scope: Scope): Prisma.WorkflowScheduleWhereInput {
  return { workspaceId: scope.workspaceId, workflow: { is: { AND: [scope.where('Workflow'), { deletedAt: null }] } } };
}

function toDate(instant: number | null): Date | null {
  return instant === null ? null : new Date(instant);
}

function toSchedule(row: WorkflowScheduleRow): WorkflowSchedule {
  const { id, name, workflowId, cron, timeZone, prompt, enabled, createdBy, savedBy } = row;
  return {
    ...{ id, name, workflowId, cron, timeZone, prompt, enabled, createdBy, savedBy },
    missed: row.missed as MissedPolicy, // the table has a check constraint
    stoppedBecause: row.stoppedBecause as StopReason | null, // only our code writes it
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
    error: error as ScheduledSlot['error'], // written by us alone
  };
}
