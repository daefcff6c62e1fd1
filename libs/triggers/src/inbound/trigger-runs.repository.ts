import { Injectable } from '@nestjs/common';

import type { ExpiredRows } from '#jobs';
import {
  fileHashesIn,
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
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
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
  readonly owner: string | null;
  readonly origin: 'api' | 'file';
  readonly ageMs: number;
  /** The name of its thread; null: its order does not matter. */
  readonly thread: string | null;
}

interface CandidateRun extends DueRun {
  readonly phase: 'waiting' | 'ready' | 'starting';
  /** Since it was to be tried, or was reserved. */
  readonly lateMs: number;
}

/** A run that no other process starts. */
export interface ReservedRun extends RunRef {
  readonly run: DueRun;
}

/** The event can have some MiB, and no list shows it. */
const unshown = { event: true, fileHashes: true } as const;
type ShownRow = Omit<TriggerRunRow, keyof typeof unshown>;

/** Keys are recognized for so long. */
const keptMs = 7 * 86_400_000;
const forgottenAtOnce = 1_000;
/** Maximum due runs of a workspace: further changes wait for their evaluation, and further requests are refused. */
const maxDue = 10_000;
/** A message may arrive this much before the time of its run. */
const earlyMs = 1_000;
/** The process that reserved a run for longer than this is taken to have died. */
const startMs = 30_000;
/** A run over the concurrency of its trigger is retried after a quarter of the time that it has waited, within these bounds. */
const slotMs = { min: 2_000, max: 60_000 };

/** Jobs that triggers start: a row for each, written with the message that starts it. */
@Injectable()
export class TriggerRunsRepository implements ExpiredRows {
  constructor(
    private readonly prisma: PrismaService,
    private readonly queues: Queues,
  ) {}

  /** Returns false if a run with this key exists. Sends the message in the same transaction. */
  async insert(
    tx: PrismaTransaction,
    run: {
      readonly workspaceId: string;
      readonly triggerId: string;
      readonly key: string;
      readonly event: TriggerEvent;
      readonly delayMs: number;
      /** Null: its order does not matter. */
      readonly thread: string | null;
      /** How many jobs of triggers precede this run in its chain. Default 0. */
      readonly depth?: number;
    },
  ): Promise<boolean> {
    const { workspaceId, triggerId, key, event, delayMs, thread, depth = 0 } = run;
    const id = newId();
    const json = JSON.stringify(event);
    const rows = await tx.$queryRaw<{ at: number }[]>`
      INSERT INTO trigger_run (workspace_id, id, trigger_id, key, depth, event, file_hashes, thread, try_at)
      VALUES (${workspaceId}::uuid, ${id}::uuid, ${triggerId}::uuid, ${key}, ${depth}::int, ${json}::jsonb, ${fileHashesIn(json)}::text[], ${thread},
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

  /** Whether the workspace has as many due runs as it may have. */
  async isFull(tx: PrismaTransaction, workspaceId: string): Promise<boolean> {
    const [row] = await tx.$queryRaw<{ isFull: boolean }[]>`
      SELECT count(*) >= ${maxDue}::int AS "isFull" FROM (
        SELECT 1 FROM trigger_run WHERE workspace_id = ${workspaceId}::uuid AND status = 'due' LIMIT ${maxDue}) AS due`;
    return row?.isFull === true;
  }

  /** Runs that a trigger has accepted within the last second. */
  async acceptedInLastSecond(tx: PrismaTransaction, workspaceId: string, triggerId: string): Promise<number> {
    const [row] = await tx.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int AS count FROM trigger_run WHERE workspace_id = ${workspaceId}::uuid AND trigger_id = ${triggerId}::uuid
         AND created_at > clock_timestamp() - interval '1 s'`;
    return row?.count ?? 0;
  }

  /**
   * Reserves the next run of a trigger; the concurrency of the trigger counts reserved runs. Without `triggerId`, the trigger is that of `ref`, whose
   * run must be due. Returns null if no run can start now; if the run of `ref` is due, its queue message is sent again.
   */
  reserve(ref: RunRef, triggerId?: string): Promise<ReservedRun | null> {
    const { workspaceId, runId } = ref;
    return this.prisma.withWorkspace(ref, async (tx) => {
      const id = triggerId ?? (await this.dueRun(tx, ref))?.triggerId;
      if (id === undefined) return null;
      // The lock serializes the counts, so that two processes do not both use the last free slot.
      await tx.$queryRaw`
        SELECT 1 FROM trigger_definition WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid FOR NO KEY UPDATE`;
      const own = await this.dueRun(tx, ref);
      const isLost = own?.phase === 'starting' && own.lateMs > startMs;
      const next = isLost ? runId : await this.nextOf(tx, workspaceId, id);
      const run = next === null ? null : next === runId ? own : await this.dueRun(tx, { workspaceId, runId: next });
      const isFull = run !== null && !isLost && (await this.busy(tx, workspaceId, id)) >= run.definition.concurrency;
      if (next === null || run === null || isFull) {
        if (own !== null) await this.remind(tx, ref, own);
        return null;
      }
      await tx.$executeRaw`
        UPDATE trigger_run SET phase = 'starting', try_at = clock_timestamp()
         WHERE workspace_id = ${workspaceId}::uuid AND id = ${next}::uuid`;
      return { workspaceId, runId: next, run };
    });
  }

  /** The message was handled and the run did not start: another message follows, even if the process that starts it dies. */
  private async remind(tx: PrismaTransaction, ref: RunRef, { phase, lateMs, ageMs }: CandidateRun): Promise<void> {
    if (phase === 'starting') await this.announce(tx, ref, Date.now() + startMs);
    else if (lateMs > -earlyMs) await this.deferIn(tx, ref, { error: null, delayMs: waitForSlotMs(ageMs) });
  }

  private async dueRun(tx: PrismaTransaction, { workspaceId, runId }: RunRef): Promise<CandidateRun | null> {
    const [row] = await tx.$queryRaw<CandidateRun[]>`
      SELECT r.trigger_id AS "triggerId", r.key, r.depth, r.event, r.thread, r.phase, t.definition, t.enabled, t.saved_by AS "savedBy", t.owner, t.origin,
          (extract(epoch FROM clock_timestamp() - r.created_at) * 1000)::float8 AS "ageMs",
          (extract(epoch FROM clock_timestamp() - r.try_at) * 1000)::float8 AS "lateMs"
        FROM trigger_run r JOIN trigger_definition t ON t.workspace_id = r.workspace_id AND t.id = r.trigger_id
       WHERE r.workspace_id = ${workspaceId}::uuid AND r.id = ${runId}::uuid AND r.status = 'due'
         AND (r.phase <> 'waiting' OR r.try_at <= clock_timestamp() + ${earlyMs}::float8 * interval '1 ms')`;
    return row ?? null;
  }

  /** Jobs of the trigger that have not ended, and those that are being started. */
  private async busy(tx: PrismaTransaction, workspaceId: string, triggerId: string): Promise<number> {
    const [row] = await tx.$queryRaw<{ count: number }[]>`
      SELECT (SELECT count(*) FROM job WHERE workspace_id = ${workspaceId}::uuid AND status IN ('queued', 'running', 'waiting')
                 AND idempotency_key LIKE ${`trigger:${triggerId}:%`})::int
           + (SELECT count(*) FROM trigger_run WHERE workspace_id = ${workspaceId}::uuid AND trigger_id = ${triggerId}::uuid
                 AND status = 'due' AND phase = 'starting')::int AS count`;
    return row?.count ?? 0;
  }

  /** The oldest due run whose thread has no older one. */
  private async nextOf(tx: PrismaTransaction, workspaceId: string, triggerId: string): Promise<string | null> {
    const [row] = await tx.$queryRaw<{ id: string }[]>`
      SELECT r.id FROM trigger_run r
       WHERE r.workspace_id = ${workspaceId}::uuid AND r.trigger_id = ${triggerId}::uuid AND r.status = 'due' AND r.phase <> 'starting'
         AND (r.try_at <= clock_timestamp() + ${earlyMs}::float8 * interval '1 ms' OR (r.phase = 'ready' AND r.error IS NULL))
         AND (r.thread IS NULL OR NOT EXISTS (
           SELECT 1 FROM trigger_run e
            WHERE e.workspace_id = r.workspace_id AND e.trigger_id = r.trigger_id AND e.status = 'due' AND e.id < r.id
              AND e.thread = r.thread
              AND (e.phase <> 'waiting' OR e.try_at <= clock_timestamp() + ${earlyMs}::float8 * interval '1 ms')))
       ORDER BY r.id LIMIT 1
         FOR NO KEY UPDATE OF r`; // waits for a cancellation in progress, and sees it
    return row?.id ?? null;
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
    const row = isId(id) ? await tx.triggerRun.findFirst({ omit: unshown, where }) : null;
    return row === null ? null : toRun(row);
  }

  /** Ends a run. The first result counts; a started job counts even if the run was cancelled. */
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

  /** Schedules another attempt of the run. */
  async reschedule(
    ref: RunRef,
    later: { readonly error: TriggerRun['error']; readonly delayMs: number },
  ): Promise<void> {
    await this.prisma.withWorkspace(ref, (tx) => this.deferIn(tx, ref, later));
  }

  private async deferIn(
    tx: PrismaTransaction,
    { workspaceId, runId }: RunRef,
    { error, delayMs }: { readonly error: TriggerRun['error']; readonly delayMs: number },
  ): Promise<void> {
    const json = error === null ? null : JSON.stringify(error);
    const [row] = await tx.$queryRaw<{ at: number }[]>`
      UPDATE trigger_run SET phase = 'ready', error = ${json}::jsonb,
             try_at = clock_timestamp() + ${delayMs}::float8 * interval '1 ms'
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${runId}::uuid AND status = 'due'
      RETURNING (extract(epoch FROM try_at) * 1000)::float8 AS at`;
    if (row !== undefined) await this.announce(tx, { workspaceId, runId }, row.at);
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
    return (await tx.triggerRun.findMany({ omit: unshown, where, orderBy: { id: 'desc' }, take })).map(toRun);
  }

  /** Runs that should have begun; their message may be lost. */
  findOverdue(limit: number, without: readonly string[]): Promise<RunRef[]> {
    return this.prisma.asWorker(
      (client) => client.$queryRaw<RunRef[]>`
        SELECT workspace_id AS "workspaceId", id AS "runId" FROM trigger_run
         WHERE status = 'due' AND try_at <= clock_timestamp() - interval '30 s' AND id <> ALL(${[...without]}::uuid[])
         ORDER BY try_at LIMIT ${limit}`,
    );
  }

  deleteExpired(workspaceId: string): Promise<number> {
    const before = new Date(Date.now() - keptMs);
    return this.prisma.withWorkspace(
      { workspaceId },
      (tx) => tx.$executeRaw`DELETE FROM trigger_run WHERE workspace_id = ${workspaceId}::uuid AND id IN (
        SELECT id FROM trigger_run WHERE workspace_id = ${workspaceId}::uuid AND status <> 'due' AND created_at < ${before}
         LIMIT ${forgottenAtOnce})`,
    );
  }

  private async announce(tx: PrismaTransaction, data: RunRef, startAfter: number): Promise<void> {
    await this.queues.send(tx, 'trigger.start', [{ data, startAfter, group: { id: data.workspaceId } }]);
  }
}

function waitForSlotMs(ageMs: number): number {
  return Math.min(Math.max(ageMs / 4, slotMs.min), slotMs.max);
}

function toRun({ id, triggerId, status, jobId, error, tryAt, createdAt }: ShownRow): TriggerRun {
  return {
    ...{ id, triggerId, jobId },
    status: status as RunStatus, // the table has a check constraint
    error:
      error === null ? null : { retryable: false, ...(error as { readonly code: string; readonly message: string }) }, // written by us alone, once without `retryable`
    tryAt: tryAt?.getTime() ?? null,
    createdAt: createdAt.getTime(),
  };
}
