import { Injectable } from '@nestjs/common';

import { type LockedJob, mayHaveRun, stoppedCall, unknownOutcome } from '#jobs';
import { Prisma, type ToolCallRow } from '#platform';

import { argumentContents } from '../history/argument-content.js';
import type { ToolEffect } from '../tool.js';
import type { CallExecutor, Settlement, ToolCallStatus, ToolFailure } from '../tool-call.js';

/** A row of the ledger, read under the lock of its job. */
export interface LockedCall {
  readonly id: string;
  readonly round: number;
  readonly ordinal: number;
  readonly callId: string;
  readonly name: string;
  /** The arguments as the model wrote them. */
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
  /** The time of the last start, in ms since the epoch; null: the call was not started. */
  readonly startedAt: number | null;
}

/** How a call was allowed or rejected, besides its status. */
export interface CallDecision {
  readonly approval?: 'person' | 'grant' | 'denied' | 'expired' | 'withdrawn';
  /** The principal who decided. */
  readonly by?: string | null;
  /** The interrupt with the decision. */
  readonly decisionId?: string;
}

const open: ToolCallStatus[] = ['pending', 'awaiting_approval', 'awaiting_client', 'running'];

/**
 * Reads and writes the ledger outside of a lease. Every method runs in the transaction that locks the job's row, so a call cannot change
 * while it is read; the predicates check the statuses nevertheless.
 */
@Injectable()
export class AwaitingCallsRepository {
  async find({ client, workspaceId, jobId }: LockedJob, id: string): Promise<LockedCall | null> {
    const row = await client.toolCall.findUnique({ where: { workspaceId_id: { workspaceId, id }, jobId } });
    return row === null ? null : toLockedCall(row);
  }

  /** Finds a call by the id that the model uses; the newest if a provider repeated an id. */
  async findByCallId({ client, workspaceId, jobId }: LockedJob, callId: string): Promise<LockedCall | null> {
    const where = { workspaceId, jobId, callId };
    const row = await client.toolCall.findFirst({ where, orderBy: { round: 'desc' } });
    return row === null ? null : toLockedCall(row);
  }

  /** Whether a sub-job has started for the call. */
  async hasSubJob({ client, workspaceId, jobId }: LockedJob, id: string): Promise<boolean> {
    return (await client.job.count({ where: { workspaceId, parentJobId: jobId, parentCallId: id } })) > 0;
  }

  /** Approves a call with these arguments. It starts under the job's next lease. */
  async approve(
    job: LockedJob,
    call: LockedCall,
    decision: CallDecision & { readonly arguments: string },
  ): Promise<void> {
    const { approval = 'person', by = null, decisionId = null } = decision;
    // The history finds a call by its proposed arguments and by its approved ones.
    const added = decision.arguments === call.arguments ? [] : argumentContents(decision.arguments);
    await this.move(job, call, {
      set: Prisma.sql`approved_at = clock_timestamp(), approved_arguments = ${decision.arguments}, approval = ${approval},
            decided_by = ${by}, decision_id = ${decisionId}::uuid,
            argument_keys = nullif(argument_keys || ARRAY(SELECT tool_call_key(tool_call_seed(workspace_id, tool_call_day(id)), content)
              FROM unnest(${added}::text[]) AS content), '{}')`,
      where: Prisma.sql`status = 'awaiting_approval' AND approved_at IS NULL`,
    });
  }

  /**
   * Settles a call that is open, or interrupted and decided. The duration of a running call ends now; time that the call waited for people
   * does not count.
   */
  async settle(job: LockedJob, call: LockedCall, end: Settlement & CallDecision): Promise<void> {
    const result = end.status === 'completed' ? end.result : null;
    const error = end.status === 'completed' ? null : JSON.stringify(end.failure);
    const bytes = end.status === 'completed' ? (end.resultBytes ?? null) : null;
    await this.move(job, call, {
      set: Prisma.sql`status = ${end.status}, result = ${result}, error = ${error}::jsonb,
            result_bytes = coalesce(${bytes}::int, octet_length(${result})), finished_at = clock_timestamp(),
            approval = coalesce(${end.approval ?? null}, approval), decided_by = coalesce(decided_by, ${end.by ?? null}),
            decision_id = coalesce(${end.decisionId ?? null}::uuid, decision_id), exec_until = NULL,
            duration_ms = CASE WHEN status = 'running' AND started_at IS NOT NULL
              THEN least(extract(epoch FROM clock_timestamp() - started_at) * 1000, 2147483647)::int ELSE duration_ms END`,
      where: Prisma.sql`status IN ('pending', 'awaiting_approval', 'awaiting_client', 'running', 'interrupted')`,
    });
  }

  /**
   * Ends every open call, or every open call of these rounds: as cancelled, or as interrupted if it may have run. Returns the calls in their
   * new state.
   */
  async closeAll({ client, workspaceId, jobId }: LockedJob, rounds?: readonly number[]): Promise<LockedCall[]> {
    const ofRounds = rounds === undefined ? Prisma.empty : Prisma.sql`AND t.round = ANY(${[...rounds]}::int[])`;
    const closed = await client.$queryRaw<{ id: string }[]>`
      UPDATE tool_call t SET status = CASE WHEN ${mayHaveRun} THEN 'interrupted' ELSE 'cancelled' END,
             error = CASE WHEN ${mayHaveRun} THEN ${JSON.stringify(unknownOutcome)}::jsonb ELSE ${JSON.stringify(stoppedCall)}::jsonb END,
             finished_at = clock_timestamp(), exec_until = NULL
       WHERE t.workspace_id = ${workspaceId}::uuid AND t.job_id = ${jobId}::uuid ${ofRounds} AND t.status = ANY(${open})
      RETURNING t.id`;
    const rows = await client.toolCall.findMany({
      where: { workspaceId, id: { in: closed.map(({ id }) => id) } },
      orderBy: [{ round: 'asc' }, { ordinal: 'asc' }],
    });
    return rows.map(toLockedCall);
  }

  /** The ids of all calls of these rounds. */
  async idsOf({ client, workspaceId, jobId }: LockedJob, rounds: readonly number[]): Promise<ReadonlySet<string>> {
    const where = { workspaceId, jobId, round: { in: [...rounds] } };
    const rows = await client.toolCall.findMany({ where, select: { id: true } });
    return new Set(rows.map(({ id }) => id));
  }

  /** Makes an interrupted call run once more, with the same idempotency key. Its approval stays valid. */
  async repeat(job: LockedJob, call: LockedCall, decision: CallDecision): Promise<void> {
    await this.move(job, call, {
      set: Prisma.sql`status = 'pending', error = NULL, finished_at = NULL, executor = 'worker',
            decision_id = ${decision.decisionId ?? null}::uuid,
            decided_by = CASE WHEN approval = 'person' THEN decided_by ELSE ${decision.by ?? null} END`,
      where: Prisma.sql`status = 'interrupted'`,
    });
  }

  /** Records that a client begins to run the call. */
  async startAtClient(job: LockedJob, call: LockedCall): Promise<void> {
    await this.move(job, call, {
      set: Prisma.sql`status = 'running', executor = 'client', started_at = clock_timestamp(), executed_arguments = approved_arguments`,
      where: Prisma.sql`status = 'awaiting_client'`,
    });
  }

  /** Offers a call to clients again after its client stopped reporting. Only for calls that are safe to repeat. */
  async backToClients(job: LockedJob, call: LockedCall): Promise<void> {
    await this.move(job, call, {
      set: Prisma.sql`status = 'awaiting_client', started_at = NULL`,
      where: Prisma.sql`status = 'running' AND executor = 'client'`,
    });
  }

  private async move(
    { client, workspaceId, jobId }: LockedJob,
    call: LockedCall,
    { set, where }: { readonly set: Prisma.Sql; readonly where: Prisma.Sql },
  ): Promise<void> {
    const moved = await client.$executeRaw`
      UPDATE tool_call SET ${set}
       WHERE workspace_id = ${workspaceId}::uuid AND job_id = ${jobId}::uuid AND id = ${call.id}::uuid AND ${where}`;
    if (moved !== 1) throw new Error(`tool call ${call.id} is ${call.status} and cannot make this move`);
  }
}

/** The check constraints of the table allow only the values of the types. */
function toLockedCall(row: ToolCallRow): LockedCall {
  return {
    id: row.id,
    round: row.round,
    ordinal: row.ordinal,
    callId: row.callId,
    name: row.name,
    arguments: row.arguments,
    approvedArguments: row.approvedArguments,
    effect: row.effect as ToolEffect,
    status: row.status as ToolCallStatus,
    executor: row.executor as CallExecutor,
    result: row.result,
    error: row.error as ToolFailure | null,
    idempotencyKey: row.idemKey,
    execEpoch: row.execEpoch,
    startedAt: row.startedAt?.getTime() ?? null,
  };
}
