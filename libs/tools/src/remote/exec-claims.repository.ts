import { Injectable } from '@nestjs/common';

import { Config, Postgres, PrismaService, Queues, TOOL_QUEUES } from '#platform';

import type { ToolEffect } from '../tool.js';
import { callsAgainSql, selectRequestsSql } from './request-message.part.js';

/** A call that this process may run until the claim expires. */
export interface ClaimedCall {
  readonly workspaceId: string;
  readonly jobId: string;
  /** The id of the ledger row. */
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  /** JSON text, as executed. */
  readonly arguments: string;
  readonly effect: ToolEffect;
  readonly idempotencyKey: string;
  readonly toolVersion: string | null;
  readonly threadId: string | null;
  readonly principal: string;
  /** Increases with every claim: a message of an older claim does not count. */
  readonly epoch: number;
  /** 1 for the first claim since the call was sent. */
  readonly attempt: number;
  /** The call waited longer than `ttlMs`, so it must not run. */
  readonly isLate: boolean;
  readonly ttlMs: number;
}

/** A call to claim. */
export interface WantedCall {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly id: string;
  /** How long the call may have waited, in ms. */
  readonly ttlMs: number;
  /** The epoch that the request was sent for. A later attempt has its own request. Absent: any epoch. */
  readonly epoch?: number;
}

/**
 * Exactly one claim per call succeeds, regardless of messages: a `once` call can be claimed if it was never claimed, any other call also if
 * the previous claim has expired. A call whose job has ended or is being cancelled cannot be claimed: the statement locks the job's row
 * before the call's row, as all code does, so that either this claim sees the cancellation or the cancellation sees the claim. `public.job`:
 * a tool process has a view of that name.
 */
const claimSql = (jobs: 'SKIP LOCKED' | '') => `WITH open AS (
  SELECT j.workspace_id, j.id, j.thread_id, j.principal FROM public.job j
   WHERE (j.workspace_id, j.id) IN (SELECT w."workspaceId", w."jobId" FROM json_to_recordset($1::json) AS w("workspaceId" uuid, "jobId" uuid))
     AND j.finished_at IS NULL AND j.cancel_requested_at IS NULL
   ORDER BY j.workspace_id, j.id FOR SHARE ${jobs}),
free AS (
  SELECT t.workspace_id, t.id, w."ttlMs", j.thread_id, j.principal
    FROM json_to_recordset($1::json) AS w("workspaceId" uuid, "jobId" uuid, id uuid, "ttlMs" int, epoch int)
    JOIN tool_call t ON t.workspace_id = w."workspaceId" AND t.id = w.id AND t.job_id = w."jobId"
    JOIN open j ON j.workspace_id = t.workspace_id AND j.id = t.job_id
   WHERE t.status = 'running' AND t.executor = 'queue' AND t.cancel_requested_at IS NULL AND (w.epoch IS NULL OR w.epoch = t.exec_epoch)
     AND (t.exec_until IS NULL OR (t.effect IN ('pure', 'idempotent') AND t.exec_until < clock_timestamp()))
   ORDER BY t.workspace_id, t.id FOR NO KEY UPDATE OF t SKIP LOCKED)
UPDATE tool_call t SET exec_epoch = t.exec_epoch + 1, exec_owner = coalesce(nullif(current_setting('app.tool_process', true), ''), $2), exec_attempts = t.exec_attempts + 1,
       started_at = clock_timestamp(), progress_seq = 0, exec_until = clock_timestamp() + $3::int * interval '1 ms'
  FROM free f WHERE t.workspace_id = f.workspace_id AND t.id = f.id
RETURNING t.workspace_id AS "workspaceId", t.job_id AS "jobId", t.id, t.call_id AS "callId", t.name,
  coalesce(t.executed_arguments, t.approved_arguments, t.arguments) AS arguments, t.effect, t.idem_key AS "idempotencyKey",
  t.tool_version AS "toolVersion", f.thread_id AS "threadId", f.principal, t.exec_epoch AS epoch, t.exec_attempts AS attempt,
  t.queued_at < clock_timestamp() - f."ttlMs" * interval '1 ms' AS "isLate", f."ttlMs"`;

const held = `t.status = 'running' AND t.executor = 'queue' AND t.exec_epoch = w.epoch`;
const wanted = `json_to_recordset($1::json) AS w("workspaceId" uuid, id uuid, epoch int)`;

/** The rows are locked in one order, so that concurrent renewals cannot deadlock. */
const renewSql = `WITH mine AS (
  SELECT t.workspace_id, t.id FROM ${wanted} JOIN tool_call t ON t.workspace_id = w."workspaceId" AND t.id = w.id
   WHERE ${held} ORDER BY t.workspace_id, t.id FOR NO KEY UPDATE OF t)
UPDATE tool_call t SET exec_until = clock_timestamp() + $2::int * interval '1 ms'
  FROM mine m WHERE t.workspace_id = m.workspace_id AND t.id = m.id RETURNING t.id`;

/**
 * A release does not count as an attempt. The same statement enqueues the call again. $2: whether its waiting time restarts; $3: the delay in
 * ms.
 */
const releaseSql = (insertion: string) => `WITH back AS (
  UPDATE tool_call t SET exec_until = NULL, exec_owner = NULL, started_at = NULL,
         queued_at = CASE WHEN $2::bool THEN clock_timestamp() ELSE t.queued_at END,
         exec_attempts = greatest(t.exec_attempts - 1, 0)
    FROM ${wanted} WHERE t.workspace_id = w."workspaceId" AND t.id = w.id AND ${held}
  RETURNING t.workspace_id, t.job_id, t.id, t.exec_epoch, t.exec_attempts, t.name, t.runtime, t.executed_arguments,
    t.approved_arguments, t.arguments, t.idem_key, t.concurrency),
sent AS (${insertion})
SELECT count(*)::int AS calls FROM back`;

const releasedSql = selectRequestsSql(callsAgainSql('back', '$4::int', "$3::int * interval '1 ms'"));

type Claim = Pick<ClaimedCall, 'workspaceId' | 'id' | 'epoch'>;

/**
 * The leases of calls in the tool queue, with the role of the workers or of a tool process. No rows means that the claim is lost, not an
 * error.
 */
@Injectable()
export class ExecClaimsRepository {
  constructor(
    private readonly postgres: Postgres,
    private readonly prisma: PrismaService,
    private readonly config: Config,
    private readonly queues: Queues,
  ) {}

  /** Claims those of `calls` that are free, each with a new epoch. */
  async claim(calls: readonly WantedCall[], owner: string): Promise<ClaimedCall[]> {
    if (calls.length === 0) return [];
    const claimed = await this.take(calls, owner, 'SKIP LOCKED');
    // The first statement skips a job whose row is locked. Its request is no longer in the queue, so the next statements wait for the lock,
    // one per call, which cannot deadlock.
    const passed = calls.filter(({ id }) => !claimed.some((call) => call.id === id));
    return [...claimed, ...(await Promise.all(passed.map((call) => this.take([call], owner, '')))).flat()];
  }

  private async take(calls: readonly WantedCall[], owner: string, jobs: 'SKIP LOCKED' | ''): Promise<ClaimedCall[]> {
    const values = [JSON.stringify(calls), owner, this.config.values.LEASE_MS];
    return this.prisma.asWorker((client) => client.$queryRawUnsafe(claimSql(jobs), ...values));
  }

  /**
   * Extends the claims that are still in force and returns their ids. A missing call was settled, cancelled or claimed by another process.
   */
  async renew(claims: readonly Claim[]): Promise<ReadonlySet<string>> {
    const { rows } = await this.postgres.reserved.query<{ id: string }>({
      name: 'renew-calls',
      text: renewSql,
      values: [JSON.stringify(claims), this.config.values.LEASE_MS],
    });
    return new Set(rows.map(({ id }) => id));
  }

  /**
   * Releases a call that certainly had no effect, or may be repeated. The next process can claim it after `delayMs`. `restartWait`: the time
   * that the call has waited does not count. Returns false if this process no longer had the claim.
   */
  async release(claim: Claim, { restartWait, delayMs }: { restartWait: boolean; delayMs: number }): Promise<boolean> {
    const values = [JSON.stringify([claim]), restartWait, delayMs, this.config.values.TOOL_QUEUE_TTL_MS];
    await this.queues.start();
    const text = releaseSql(this.queues.insertionOf(TOOL_QUEUES.requests, releasedSql));
    const rows = await this.prisma.asWorker((client) => client.$queryRawUnsafe<{ calls: number }[]>(text, ...values));
    return (rows[0]?.calls ?? 0) > 0;
  }
}
