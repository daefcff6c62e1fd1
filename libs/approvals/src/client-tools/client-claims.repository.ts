import { Injectable } from '@nestjs/common';

import type { HeldJob } from '#jobs';

/** How the newest request for a client to run a call stands. */
export interface ClaimState {
  /** Id of the interrupt. */
  readonly id: string;
  /** Of the last claim; null: it was never claimed. */
  readonly digest: Buffer | null;
  /** Whether that claim holds now. Unvalidated, it lapses without a trace. */
  readonly isHeld: boolean;
  readonly isValidated: boolean;
  /** The end of the claim, ms since the epoch. */
  readonly until: number | null;
  readonly device: string | null;
}

/** A claim as it is to be stored. */
export interface NewClaim {
  readonly id: string;
  readonly digest: Buffer;
  readonly device: string;
  /** The principal. */
  readonly by: string;
  readonly lastsMs: number;
}

/** Ids as the job's starter knows them. */
export interface CallContext {
  readonly threadId: string | null;
  readonly messageId: string | null;
}

/** A request does not expire before the claim on it does, so the client that runs the call can finish. */
const extended = `claim_until = t.until, expires_at = CASE WHEN expires_at < t.until THEN t.until ELSE expires_at END
  FROM (SELECT clock_timestamp() + $3 * interval '1 ms' AS until) t`;

const claimSql = `UPDATE interrupt SET claim_digest = $4, claim_device = $5, claimed_by = $6, validated_at = NULL, ${extended}
  WHERE workspace_id = $1 AND id = $2 AND status = 'open' AND validated_at IS NULL
    AND (claim_until IS NULL OR claim_until <= clock_timestamp())
  RETURNING (extract(epoch FROM claim_until) * 1000)::float8 AS until`;

const validateSql = `UPDATE interrupt SET validated_at = clock_timestamp(), ${extended}
  WHERE workspace_id = $1 AND id = $2 AND status = 'open' AND validated_at IS NULL AND claim_until > clock_timestamp()
  RETURNING (extract(epoch FROM claim_until) * 1000)::float8 AS until`;

/**
 * Who serves a client's call, and until when, by the database's clock. Every method runs in the transaction that holds the
 * job's row, so no other client claims at the same time.
 */
@Injectable()
export class ClientClaimsRepository {
  /** Null: the call was never left to a client. */
  async find({ client, workspaceId }: HeldJob, toolCallId: string): Promise<ClaimState | null> {
    const { rows } = await client.query<ClaimState>(
      `SELECT id, claim_digest AS digest, coalesce(claim_until > clock_timestamp(), false) AS "isHeld",
              validated_at IS NOT NULL AS "isValidated", (extract(epoch FROM claim_until) * 1000)::float8 AS until,
              claim_device AS device
         FROM interrupt WHERE workspace_id = $1 AND tool_call_id = $2 AND kind = 'client_tool' ORDER BY id DESC LIMIT 1`,
      [workspaceId, toolCallId],
    );
    return rows[0] ?? null;
  }

  async contextOf({ client, workspaceId, jobId }: HeldJob): Promise<CallContext> {
    const { rows } = await client.query<CallContext>(
      `SELECT coalesce(t.client_id, j.thread_id::text) AS "threadId",
              coalesce(j.message_client_id, j.message_id::text) AS "messageId"
         FROM job j LEFT JOIN thread t ON t.workspace_id = j.workspace_id AND t.id = j.thread_id
        WHERE j.workspace_id = $1 AND j.id = $2`,
      [workspaceId, jobId],
    );
    const [row] = rows;
    if (row === undefined) throw new Error(`job ${jobId} vanished under its lock`);
    return row;
  }

  /** Gives the end of the claim, ms since the epoch. */
  claim({ client, workspaceId }: HeldJob, claim: NewClaim): Promise<number> {
    const { id, lastsMs, digest, device, by } = claim;
    return this.until(client.query(claimSql, [workspaceId, id, lastsMs, digest, device, by]), id);
  }

  /** The client begins: the claim now lasts `lastsMs` from here. */
  validate({ client, workspaceId }: HeldJob, id: string, lastsMs: number): Promise<number> {
    return this.until(client.query(validateSql, [workspaceId, id, lastsMs]), id);
  }

  /** Anybody may claim again. */
  async free({ client, workspaceId }: HeldJob, id: string): Promise<void> {
    await client.query(
      `UPDATE interrupt SET claim_digest = NULL, claim_until = NULL, claim_device = NULL, claimed_by = NULL, validated_at = NULL
        WHERE workspace_id = $1 AND id = $2 AND status = 'open'`,
      [workspaceId, id],
    );
  }

  private async until(done: Promise<{ rows: unknown[] }>, id: string): Promise<number> {
    const [row] = (await done).rows as { until: number }[]; // what both statements return
    if (row === undefined) throw new Error(`interrupt ${id} could not be claimed under the lock of its job`);
    return Math.round(row.until);
  }
}
