import { Injectable } from '@nestjs/common';

import { type HeldJob, mayHaveRun, stoppedCall, unknownOutcome } from '#jobs';

import { argumentContents } from './history/argument-content.js';
import type { ToolEffect } from './tool.js';
import type { CallExecutor, Settlement, ToolCallStatus, ToolFailure } from './tool-call.js';

/** A ledger row as it is under the lock of its job. */
export interface HeldCall {
  readonly id: string;
  readonly round: number;
  readonly ordinal: number;
  readonly callId: string;
  readonly name: string;
  /** As the model wrote them. */
  readonly arguments: string;
  /** The arguments as a person approved them; null: they were not approved. */
  readonly approvedArguments: string | null;
  readonly effect: ToolEffect;
  readonly status: ToolCallStatus;
  readonly executor: CallExecutor;
  readonly result: string | null;
  readonly error: ToolFailure | null;
  readonly idempotencyKey: string;
  readonly execEpoch: number;
  /** When it was last started, ms since the epoch; null: it was not. */
  readonly startedAt: number | null;
}

/** How a call came to run or not, beside its status. */
export interface CallDecision {
  readonly approval?: 'person' | 'grant' | 'denied' | 'expired' | 'withdrawn';
  /** The principal who decided. */
  readonly by?: string | null;
  /** The interrupt that was decided. */
  readonly decisionId?: string;
}

const columns = `id, round, ordinal, call_id AS "callId", name, arguments, approved_arguments AS "approvedArguments", effect, status,
  executor, result, error, idem_key AS "idempotencyKey", exec_epoch AS "execEpoch",
  (extract(epoch FROM started_at) * 1000)::float8 AS "startedAt"`;

/**
 * The ledger from outside a lease. Every method runs in the transaction that holds the job's row, so a call cannot move while
 * it is looked at; the statuses in the predicates are what the moves allow all the same.
 */
@Injectable()
export class AwaitingCallsRepository {
  async find({ client, workspaceId, jobId }: HeldJob, id: string): Promise<HeldCall | null> {
    const { rows } = await client.query<HeldCall>(
      `SELECT ${columns} FROM tool_call WHERE workspace_id = $1 AND job_id = $2 AND id = $3`,
      [workspaceId, jobId, id],
    );
    return rows[0] ?? null;
  }

  /** By the id the model knows it by; the newest if a provider repeated one. */
  async findByCallId({ client, workspaceId, jobId }: HeldJob, callId: string): Promise<HeldCall | null> {
    const { rows } = await client.query<HeldCall>(
      `SELECT ${columns} FROM tool_call WHERE workspace_id = $1 AND job_id = $2 AND call_id = $3 ORDER BY round DESC LIMIT 1`,
      [workspaceId, jobId, callId],
    );
    return rows[0] ?? null;
  }

  /** Whether a job is its work by now. */
  async hasSubJob({ client, workspaceId, jobId }: HeldJob, id: string): Promise<boolean> {
    const { rows } = await client.query(
      `SELECT 1 FROM job WHERE workspace_id = $1 AND parent_job_id = $2 AND parent_call_id = $3`,
      [workspaceId, jobId, id],
    );
    return rows.length > 0;
  }

  /** Lets a call run with these arguments; it starts under the job's next lease. */
  async approve(job: HeldJob, call: HeldCall, decision: CallDecision & { readonly arguments: string }): Promise<void> {
    const { approval = 'person', by = null, decisionId = null } = decision;
    // The history finds a call by what was asked for, and by what a person made of it.
    const added = decision.arguments === call.arguments ? [] : argumentContents(decision.arguments);
    await this.move(job, call, {
      set: `approved_at = clock_timestamp(), approved_arguments = $4, approval = $5, decided_by = $6, decision_id = $7,
            argument_keys = nullif(argument_keys || ARRAY(SELECT tool_call_key(tool_call_seed(workspace_id, tool_call_day(id)), c) FROM unnest($8::text[]) AS c), '{}')`,
      where: `status = 'awaiting_approval' AND approved_at IS NULL`,
      values: [decision.arguments, approval, by, decisionId, added],
    });
  }

  /** Settles a call that is open, or interrupted and decided upon. Only what ran until now took time; people's days do not count. */
  async settle(job: HeldJob, call: HeldCall, end: Settlement & CallDecision): Promise<void> {
    const result = end.status === 'completed' ? end.result : null;
    const error = end.status === 'completed' ? null : JSON.stringify(end.failure);
    const bytes = end.status === 'completed' ? (end.resultBytes ?? null) : null;
    await this.move(job, call, {
      set: `status = $4, result = $5, error = $6, result_bytes = coalesce($7, octet_length($5)), finished_at = clock_timestamp(),
            approval = coalesce($8, approval), decided_by = coalesce(decided_by, $9), decision_id = coalesce($10, decision_id),
            exec_until = NULL, duration_ms = CASE WHEN status = 'running' AND started_at IS NOT NULL
              THEN least(extract(epoch FROM clock_timestamp() - started_at) * 1000, 2147483647)::int ELSE duration_ms END`,
      where: `status IN ('pending', 'awaiting_approval', 'awaiting_client', 'running', 'interrupted')`,
      values: [end.status, result, error, bytes, end.approval ?? null, end.by ?? null, end.decisionId ?? null],
    });
  }

  /** Ends every call (of these rounds) that is still open, each by what may have become of it; gives them as they then are. */
  async closeAll({ client, workspaceId, jobId }: HeldJob, rounds?: readonly number[]): Promise<HeldCall[]> {
    const { rows } = await client.query<HeldCall>(
      `UPDATE tool_call t SET status = CASE WHEN ${mayHaveRun} THEN 'interrupted' ELSE 'cancelled' END,
         error = CASE WHEN ${mayHaveRun} THEN $3::jsonb ELSE $4::jsonb END, finished_at = clock_timestamp(), exec_until = NULL
        WHERE workspace_id = $1 AND job_id = $2 AND ($5::int[] IS NULL OR round = ANY($5))
          AND status IN ('pending', 'awaiting_approval', 'awaiting_client', 'running') RETURNING ${columns}`,
      [workspaceId, jobId, JSON.stringify(unknownOutcome), JSON.stringify(stoppedCall), rounds ?? null],
    );
    return rows.toSorted((a, b) => a.round - b.round || a.ordinal - b.ordinal);
  }

  /** The ids of all calls of these rounds. */
  async idsOf({ client, workspaceId, jobId }: HeldJob, rounds: readonly number[]): Promise<ReadonlySet<string>> {
    const { rows } = await client.query<{ id: string }>(
      `SELECT id FROM tool_call WHERE workspace_id = $1 AND job_id = $2 AND round = ANY($3::int[])`,
      [workspaceId, jobId, rounds],
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Lets an interrupted call run once more, with its old key. Its approval stays valid. */
  async repeat(job: HeldJob, call: HeldCall, decision: CallDecision): Promise<void> {
    await this.move(job, call, {
      set: `status = 'pending', error = NULL, finished_at = NULL, executor = 'worker', decision_id = $5,
            decided_by = CASE WHEN approval = 'person' THEN decided_by ELSE $4 END`,
      where: `status = 'interrupted'`,
      values: [decision.by ?? null, decision.decisionId ?? null],
    });
  }

  /** A client begins to run it. */
  async startAtClient(job: HeldJob, call: HeldCall): Promise<void> {
    await this.move(job, call, {
      set: `status = 'running', executor = 'client', started_at = clock_timestamp(), executed_arguments = approved_arguments`,
      where: `status = 'awaiting_client'`,
      values: [],
    });
  }

  /** A client that had begun was lost, and beginning again does no harm. */
  async backToClients(job: HeldJob, call: HeldCall): Promise<void> {
    await this.move(job, call, {
      set: `status = 'awaiting_client', started_at = NULL`,
      where: `status = 'running' AND executor = 'client'`,
      values: [],
    });
  }

  private async move(
    { client, workspaceId, jobId }: HeldJob,
    call: HeldCall,
    { set, where, values }: { readonly set: string; readonly where: string; readonly values: readonly unknown[] },
  ): Promise<void> {
    const { rowCount } = await client.query(
      `UPDATE tool_call SET ${set} WHERE workspace_id = $1 AND job_id = $2 AND id = $3 AND ${where}`,
      [workspaceId, jobId, call.id, ...values],
    );
    if (rowCount !== 1) throw new Error(`tool call ${call.id} is ${call.status} and cannot make this move`);
  }
}
