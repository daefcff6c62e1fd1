import { Injectable } from '@nestjs/common';

import type { HeldJob } from '#jobs';
import { Config, insertMessagesSql, newId, TOOL_QUEUES } from '#platform';

import type { CancelRequest } from './queue-message.js';
import { insertRequestsSql } from './request-message.repository.js';

/** How a call of the isolated queue stands, by the database's clock, under the lock of its job. */
export interface QueueState {
  /** A tool process holds or held it since it was sent. */
  readonly isTaken: boolean;
  /** Its claim has run out. */
  readonly isLost: boolean;
  /** It waits longer than it may. */
  readonly isLate: boolean;
  /** Claims since it was sent. */
  readonly attempts: number;
  readonly epoch: number;
  readonly owner: string | null;
  readonly cancelRequested: boolean;
  /** It was asked to stop, and its time to do so is over. */
  readonly isOverdue: boolean;
  readonly progressSeq: number;
  readonly progressShown: number;
  /** Since its progress was last shown; null: never. */
  readonly shownMsAgo: number | null;
}

/** How long a call may take to end after it was asked to stop, ms. */
export const CANCEL_GRACE_MS = 10_000;

const stateSql = `SELECT exec_until IS NOT NULL AS "isTaken", coalesce(exec_until < clock_timestamp(), false) AS "isLost",
    exec_until IS NULL AND queued_at < clock_timestamp() - $3::int * interval '1 ms' AS "isLate", exec_attempts AS attempts,
    exec_epoch AS epoch, split_part(exec_owner, '#', 1) AS owner, cancel_requested_at IS NOT NULL AS "cancelRequested",
    coalesce(cancel_requested_at < clock_timestamp() - ${CANCEL_GRACE_MS} * interval '1 ms', false) AS "isOverdue",
    progress_seq AS "progressSeq", progress_shown AS "progressShown",
    (extract(epoch FROM clock_timestamp() - progress_at) * 1000)::float8 AS "shownMsAgo"
  FROM tool_call WHERE workspace_id = $1 AND id = $2 AND status = 'running' AND executor = 'queue'`;

const resendSql = insertRequestsSql(`tool_call t JOIN job j ON j.workspace_id = t.workspace_id AND j.id = t.job_id
  CROSS JOIN LATERAL (SELECT t.id, t.exec_epoch AS epoch, t.exec_attempts + 1 AS attempt, t.name, t.runtime,
    coalesce(t.executed_arguments, t.approved_arguments, t.arguments) AS args, t.idem_key AS key, true AS allow_edit,
    false AS admin_required, $4::int AS ttl, $3::int * interval '1 ms' AS delay) c
 WHERE t.workspace_id = $1 AND t.id = $2`);

const sendSql = insertMessagesSql(`(SELECT $1::uuid AS id, $2::text AS queue, $3::jsonb AS data, $4::int AS priority,
  interval '0' AS delay, $5::text AS topic, $6::text AS owner) m`);

const cancelPriority = 100;

/** The queue's side of the ledger from outside every claim, in the transaction that holds the job's row, as the api's role. */
@Injectable()
export class QueueStateRepository {
  constructor(private readonly config: Config) {}

  /** How long a call may wait until a process takes it. */
  get ttlMs(): number {
    return this.config.values.TOOL_QUEUE_TTL_MS;
  }

  /** Null: it does not run in the queue. */
  async find({ client, workspaceId }: HeldJob, id: string): Promise<QueueState | null> {
    const [state] = await client.$queryRawUnsafe<QueueState[]>(stateSql, workspaceId, id, this.ttlMs);
    return state ?? null;
  }

  /** Enqueues once more a call that no worker has claimed. A request that still waits stays the only one. */
  async sendAgain({ client, workspaceId }: HeldJob, id: string): Promise<void> {
    await client.$executeRawUnsafe(resendSql, workspaceId, id, 0, this.ttlMs);
  }

  /** Lets a lost call wait again, to be taken at the earliest after `delayMs`. */
  async retry({ client, workspaceId }: HeldJob, id: string, delayMs: number): Promise<void> {
    await client.$executeRawUnsafe(
      `UPDATE tool_call SET exec_until = NULL, exec_owner = NULL, queued_at = clock_timestamp()
        WHERE workspace_id = $1 AND id = $2`,
      workspaceId,
      id,
    );
    await client.$executeRawUnsafe(resendSql, workspaceId, id, delayMs, this.ttlMs);
  }

  /** Removes a call from the queue as if it had never been sent; later messages about it do not count. */
  async giveBack({ client, workspaceId }: HeldJob, id: string): Promise<void> {
    await client.$executeRawUnsafe(
      `UPDATE tool_call SET status = 'pending', executor = 'worker', exec_epoch = exec_epoch + 1, exec_owner = NULL,
              exec_until = NULL, exec_attempts = 0, queued_at = NULL, started_at = NULL, started_epoch = NULL,
              executed_arguments = NULL
        WHERE workspace_id = $1 AND id = $2 AND status = 'running' AND executor = 'queue'`,
      workspaceId,
      id,
    );
  }

  /** Withdraws the right to submit a result, and notifies the tool processes to stop the call. */
  async withdraw({ client, workspaceId, jobId }: HeldJob, id: string, issuedBy: string): Promise<void> {
    await client.$executeRawUnsafe(
      `UPDATE tool_call SET cancel_requested_at = clock_timestamp(), exec_epoch = exec_epoch + 1
        WHERE workspace_id = $1 AND id = $2`,
      workspaceId,
      id,
    );
    const message: CancelRequest = {
      type: 'cancel_request',
      correlation_id: id,
      workspace_id: workspaceId,
      job_id: jobId,
      issued_by: issuedBy,
      timestamp: Date.now(),
    };
    // It belongs to no workspace: it must pass where requests of this workspace have to wait.
    const place = [newId(), TOOL_QUEUES.requests, JSON.stringify(message), cancelPriority, null, null];
    await client.$executeRawUnsafe(sendSql, ...place);
  }

  /** The process that claimed the call certainly had no effect. */
  async neverStarted({ client, workspaceId }: HeldJob, id: string): Promise<void> {
    await client.$executeRawUnsafe(
      `UPDATE tool_call SET started_at = NULL WHERE workspace_id = $1 AND id = $2`,
      workspaceId,
      id,
    );
  }

  /** Progress was shown up to `seq`. */
  async shown({ client, workspaceId }: HeldJob, id: string, seq: number): Promise<void> {
    await client.$executeRawUnsafe(
      `UPDATE tool_call SET progress_seq = $3, progress_shown = progress_shown + 1, progress_at = clock_timestamp()
        WHERE workspace_id = $1 AND id = $2`,
      workspaceId,
      id,
      seq,
    );
  }

  /** Whether anybody was ever asked about the call, or decided on it. */
  async wasAsked({ client, workspaceId }: HeldJob, id: string): Promise<boolean> {
    const rows = await client.$queryRawUnsafe<object[]>(
      `SELECT 1 FROM interrupt WHERE workspace_id = $1 AND tool_call_id = $2
          AND (status = 'open' OR outcome->>'outcome' = 'report') LIMIT 1`,
      workspaceId,
      id,
    );
    return rows.length > 0;
  }

  /** Who sent a call again, in the append-only audit. */
  async recordRedrive({ client, workspaceId }: HeldJob, id: string, by: string): Promise<void> {
    const subject = { subjectType: 'ToolCall', subjectId: id, details: {} };
    const entry = { workspaceId, id: newId(), actor: by, action: 'tool-call-redriven', ...subject };
    await client.auditEntry.createMany({ data: [entry] });
  }

  /** Keeps a note of what was given up, for people. */
  async bury({ client, workspaceId }: HeldJob, letter: { readonly reason: string }): Promise<void> {
    await client.$executeRawUnsafe(
      sendSql,
      newId(),
      TOOL_QUEUES.dead,
      JSON.stringify(letter),
      0,
      letter.reason,
      workspaceId,
    );
  }
}
