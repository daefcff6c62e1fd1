import { Injectable } from '@nestjs/common';

import type { Forgetter } from '#jobs';
import {
  isId,
  newId,
  Prisma,
  PrismaService,
  type PrismaTransaction,
  Queues,
  type Scope,
  type TriggerRunRow,
} from '#platform';

import type { TriggerEvent } from './trigger-condition.js';
import type { TriggerDefinition } from './trigger-definition.js';
import type { TriggerRef } from './triggers.repository.js';

export interface RunRef {
  readonly workspaceId: string;
  readonly runId: string;
}

/** `due` its job is about to be started, or waits for its time. `cancelled` by a person before that. */
export type RunStatus = 'due' | 'started' | 'failed' | 'cancelled';

/** A run of a trigger, for lists. Instants in ms since the epoch. */
export interface TriggerRun {
  readonly id: string;
  readonly triggerId: string;
  readonly status: RunStatus;
  readonly jobId: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** When a due one is tried. */
  readonly tryAt: number | null;
  readonly createdAt: number;
}

/** A run that is due, with its trigger as it is now. */
export interface DueRun {
  readonly triggerId: string;
  readonly key: string;
  /** How many jobs of triggers precede this run in its chain. */
  readonly depth: number;
  readonly event: TriggerEvent;
  readonly definition: TriggerDefinition;
  readonly enabled: boolean;
  readonly savedBy: string;
  readonly ageMs: number;
  /** Jobs of this trigger that have not ended. */
  readonly running: number;
}

/** Keys are recognized for so long. */
const keptMs = 7 * 86_400_000;
const forgottenAtOnce = 1_000;

/** Jobs that triggers start: a row for each, written with the message that starts it. */
@Injectable()
export class TriggerRunsRepository implements Forgetter {
  constructor(
    private readonly prisma: PrismaService,
    private readonly queues: Queues,
  ) {}

  /** False: a run with this key exists. The message is sent in the same transaction. */
  async insert(
    tx: PrismaTransaction,
    run: {
      readonly workspaceId: string;
      readonly triggerId: string;
      readonly key: string;
      readonly event: TriggerEvent;
      readonly delayMs: number;
      /** How many jobs of triggers precede this run in its chain. Default 0. */
      readonly depth?: number;
    },
  ): Promise<boolean> {
    const { workspaceId, triggerId, key, event, delayMs, depth = 0 } = run;
    const id = newId();
    const rows = await tx.$queryRaw<{ at: number }[]>`
      INSERT INTO trigger_run (workspace_id, id, trigger_id, key, depth, event, try_at)
      VALUES (${workspaceId}::uuid, ${id}::uuid, ${triggerId}::uuid, ${key}, ${depth}::int, ${JSON.stringify(event)}::jsonb,
              clock_timestamp() + ${delayMs}::float8 * interval '1 ms')
      ON CONFLICT (workspace_id, trigger_id, key) DO NOTHING
      RETURNING (extract(epoch FROM try_at) * 1000)::float8 AS at`;
    const [row] = rows;
    if (row === undefined) return false;
    await this.announce(tx, { workspaceId, runId: id }, row.at);
    return true;
  }

  /** The idempotency key of a job, or of the root of a sub-job. Null: it has none, or the job was deleted. */
  async keyOfJob(tx: PrismaTransaction, workspaceId: string, jobId: string): Promise<string | null> {
    const [row] = await tx.$queryRaw<{ key: string | null }[]>`
      SELECT r.idempotency_key AS key FROM job j JOIN job r ON r.workspace_id = j.workspace_id AND r.id = coalesce(j.root_job_id, j.id)
       WHERE j.workspace_id = ${workspaceId}::uuid AND j.id = ${jobId}::uuid`;
    return row?.key ?? null;
  }

  async isKnown(tx: PrismaTransaction, { workspaceId, id: triggerId }: TriggerRef, key: string): Promise<boolean> {
    const where = { workspaceId_triggerId_key: { workspaceId, triggerId, key } };
    return (await tx.triggerRun.findUnique({ where, select: { id: true } })) !== null;
  }

  /** Runs that a trigger has accepted within the last second. */
  async acceptedInLastSecond(tx: PrismaTransaction, workspaceId: string, triggerId: string): Promise<number> {
    const [row] = await tx.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int AS count FROM trigger_run WHERE workspace_id = ${workspaceId}::uuid AND trigger_id = ${triggerId}::uuid
         AND created_at > clock_timestamp() - interval '1 s'`;
    return row?.count ?? 0;
  }

  /** Null: it is not due any more. */
  async read({ workspaceId, runId }: RunRef): Promise<DueRun | null> {
    const [row] = await this.prisma.queryInWorkspace<DueRun>(
      { workspaceId },
      Prisma.sql`SELECT r.trigger_id AS "triggerId", r.key, r.depth, r.event, t.definition, t.enabled, t.saved_by AS "savedBy",
          (extract(epoch FROM clock_timestamp() - r.created_at) * 1000)::float8 AS "ageMs",
          (SELECT count(*)::int FROM trigger_run s JOIN job j ON j.workspace_id = s.workspace_id AND j.id = s.job_id
            WHERE s.workspace_id = r.workspace_id AND s.trigger_id = r.trigger_id AND s.status = 'started'
              AND j.status IN ('queued', 'running', 'waiting')) AS running
        FROM trigger_run r JOIN trigger_definition t ON t.workspace_id = r.workspace_id AND t.id = r.trigger_id
       WHERE r.workspace_id = ${workspaceId}::uuid AND r.id = ${runId}::uuid AND r.status = 'due'
         AND r.try_at <= clock_timestamp() + interval '1 s'
         FOR NO KEY UPDATE OF r`, // waits for a cancellation in progress, and sees it
    );
    return row ?? null;
  }

  /** Ends a run that waits for its time. Null: its job is being started, or the run has ended. */
  async cancel(tx: PrismaTransaction, scope: Scope, id: string): Promise<TriggerRun | null> {
    const { workspaceId } = scope;
    const [row] = await tx.$queryRaw<{ id: string }[]>`
      UPDATE trigger_run SET status = 'cancelled', try_at = NULL, event = NULL
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND status = 'due'
         AND try_at > clock_timestamp() + interval '1 s'
      RETURNING id`;
    return row === undefined ? null : this.find(tx, scope, id);
  }

  async find(tx: PrismaTransaction, scope: Scope, id: string): Promise<TriggerRun | null> {
    const where = { workspaceId: scope.workspaceId, id, trigger: { is: scope.where('Trigger') } };
    const row = isId(id) ? await tx.triggerRun.findFirst({ where }) : null;
    return row === null ? null : toRun(row);
  }

  /** The end of a run: of several results the first counts; a job that was started counts even if the run was cancelled. */
  async settle(
    { workspaceId, runId: id }: RunRef,
    end: { readonly jobId: string } | { readonly error: NonNullable<TriggerRun['error']> },
  ): Promise<void> {
    const open: RunStatus[] = 'jobId' in end ? ['due', 'cancelled'] : ['due'];
    const result = 'jobId' in end ? { status: 'started', jobId: end.jobId } : { status: 'failed', error: end.error };
    await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.triggerRun.updateMany({
        where: { workspaceId, id, status: { in: open } },
        data: { ...result, tryAt: null, event: Prisma.DbNull },
      }),
    );
  }

  /** It is tried again later. */
  async putOff(
    ref: RunRef,
    { error, delayMs }: { readonly error: TriggerRun['error']; readonly delayMs: number },
  ): Promise<void> {
    const json = error === null ? null : JSON.stringify(error);
    await this.prisma.withWorkspace(ref, async (tx) => {
      const [row] = await tx.$queryRaw<{ at: number }[]>`
        UPDATE trigger_run SET error = ${json}::jsonb, try_at = clock_timestamp() + ${delayMs}::float8 * interval '1 ms'
         WHERE workspace_id = ${ref.workspaceId}::uuid AND id = ${ref.runId}::uuid AND status = 'due'
        RETURNING (extract(epoch FROM try_at) * 1000)::float8 AS at`;
      if (row !== undefined) await this.announce(tx, ref, row.at);
    });
  }

  /** Newest first; with `status`, only those. */
  async list(
    tx: PrismaTransaction,
    scope: Scope,
    {
      triggerId,
      status,
      take,
    }: { readonly triggerId: string; readonly status: RunStatus | null; readonly take: number },
  ): Promise<TriggerRun[]> {
    const wanted = status === null ? {} : { status };
    const where = { workspaceId: scope.workspaceId, triggerId, ...wanted, trigger: { is: scope.where('Trigger') } };
    return (await tx.triggerRun.findMany({ where, orderBy: { id: 'desc' }, take })).map(toRun);
  }

  /** Runs that should have begun; their message may be lost. */
  findOverdue(limit: number): Promise<RunRef[]> {
    return this.prisma.asEngine(
      (client) => client.$queryRaw<RunRef[]>`
        SELECT workspace_id AS "workspaceId", id AS "runId" FROM trigger_run
         WHERE status = 'due' AND try_at <= clock_timestamp() - interval '30 s' ORDER BY try_at LIMIT ${limit}`,
    );
  }

  forget(workspaceId: string): Promise<number> {
    const before = new Date(Date.now() - keptMs);
    return this.prisma.withWorkspace(
      { workspaceId },
      (tx) => tx.$executeRaw`DELETE FROM trigger_run WHERE workspace_id = ${workspaceId}::uuid AND id IN (
        SELECT id FROM trigger_run WHERE workspace_id = ${workspaceId}::uuid AND status <> 'due' AND created_at < ${before}
         LIMIT ${forgottenAtOnce})`,
    );
  }

  private async announce(tx: PrismaTransaction, data: RunRef, startAfter: number): Promise<void> {
    await this.queues.send(tx, 'trigger.start', [{ data, startAfter }]);
  }
}

function toRun({ id, triggerId, status, jobId, error, tryAt, createdAt }: TriggerRunRow): TriggerRun {
  return {
    ...{ id, triggerId, jobId },
    status: status as RunStatus, // the table has a check constraint
    error: error as TriggerRun['error'], // written by us alone
    tryAt: tryAt?.getTime() ?? null,
    createdAt: createdAt.getTime(),
  };
}
