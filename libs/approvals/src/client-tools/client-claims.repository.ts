import { Injectable } from '@nestjs/common';

import { interruptDue, type LockedJob } from '#jobs';
import { Prisma } from '#platform';

/** The claim on the newest request for a client to run a call. */
export interface ClaimState {
  /** The id of the interrupt. */
  readonly id: string;
  /** The digest of the last claim; null: no client has claimed the call. */
  readonly digest: Uint8Array | null;
  /** Whether the claim is in force now. A claim that expires before its validation has no effect on the call. */
  readonly isHeld: boolean;
  readonly isValidated: boolean;
  /** The end of the claim, ms since the epoch. */
  readonly until: number | null;
  readonly device: string | null;
}

/** A claim to store. */
export interface NewClaim {
  readonly id: string;
  readonly digest: Buffer;
  readonly device: string;
  /** The principal of the client. */
  readonly by: string;
  readonly lastsMs: number;
}

/** The ids that the job's requester knows. */
export interface CallContext {
  readonly threadId: string | null;
  readonly messageId: string | null;
}

/** A request does not expire before the claim on it does, so the client that runs the call can finish. */
const extendedBy = (lastsMs: number) => Prisma.sql`claim_until = claim.until,
  expires_at = CASE WHEN expires_at < claim.until THEN claim.until ELSE expires_at END
  FROM (SELECT clock_timestamp() + ${lastsMs}::int * interval '1 ms' AS until) claim`;

/**
 * Stores which client runs a call, and until when, by the database's clock. Every method runs in the transaction that locks the job's row, so
 * no other client claims at the same time.
 */
@Injectable()
export class ClientClaimsRepository {
  /** Returns null if the call was never offered to a client. */
  async find({ client, workspaceId }: LockedJob, toolCallId: string): Promise<ClaimState | null> {
    const [state] = await client.$queryRaw<ClaimState[]>`
      SELECT id, claim_digest AS digest, coalesce(claim_until > clock_timestamp(), false) AS "isHeld",
             validated_at IS NOT NULL AS "isValidated", (extract(epoch FROM claim_until) * 1000)::float8 AS until,
             claim_device AS device
        FROM interrupt WHERE workspace_id = ${workspaceId}::uuid AND tool_call_id = ${toolCallId}::uuid AND kind = 'client_tool'
       ORDER BY id DESC LIMIT 1`;
    return state ?? null;
  }

  async contextOf({ client, workspaceId, jobId }: LockedJob): Promise<CallContext> {
    const { threadId, messageId, messageClientId, thread } = await client.job.findUniqueOrThrow({
      where: { workspaceId_id: { workspaceId, id: jobId } },
      select: { threadId: true, messageId: true, messageClientId: true, thread: { select: { clientId: true } } },
    });
    return { threadId: thread?.clientId ?? threadId, messageId: messageClientId ?? messageId };
  }

  /** Returns the end of the claim, in ms since the epoch. */
  async claim({ client, workspaceId }: LockedJob, { id, lastsMs, digest, device, by }: NewClaim): Promise<number> {
    const claimed = await client.$queryRaw<ClaimEnd[]>`
      UPDATE interrupt SET claim_digest = ${digest}, claim_device = ${device}, claimed_by = ${by}, validated_at = NULL,
             ${extendedBy(lastsMs)}
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND status = 'open' AND validated_at IS NULL
         AND (claim_until IS NULL OR claim_until <= clock_timestamp())
      RETURNING claim_until AS until`;
    return untilOf(claimed, id);
  }

  /** Records that the client begins to run the call. The claim now ends `lastsMs` from now, and a queue message is due at its end. */
  async validate(job: LockedJob, id: string, lastsMs: number): Promise<number> {
    const { client, workspaceId, jobId } = job;
    const validated = await client.$queryRaw<ClaimEnd[]>`
      UPDATE interrupt SET validated_at = clock_timestamp(), ${extendedBy(lastsMs)}
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND status = 'open' AND validated_at IS NULL
         AND claim_until > clock_timestamp()
      RETURNING claim_until AS until`;
    const until = untilOf(validated, id);
    job.send(interruptDue({ workspaceId, jobId, id }, until));
    return until;
  }

  /** Extends a claim in force to at least `lastsMs` from now. */
  async extend({ client, workspaceId }: LockedJob, id: string, lastsMs: number): Promise<void> {
    await client.$executeRaw`
      UPDATE interrupt SET claim_until = greatest(claim_until, claim.until), expires_at = greatest(expires_at, claim.until)
        FROM (SELECT clock_timestamp() + ${lastsMs}::int * interval '1 ms' AS until) claim
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND status = 'open' AND claim_until > clock_timestamp()`;
  }

  /** Removes the claim, so that any client may claim the call again. */
  async free({ client, workspaceId }: LockedJob, id: string): Promise<void> {
    const data = { claimDigest: null, claimUntil: null, claimDevice: null, claimedBy: null, validatedAt: null };
    await client.interrupt.updateMany({ where: { workspaceId, id, status: 'open' }, data });
  }
}

interface ClaimEnd {
  readonly until: Date;
}

function untilOf([claim]: readonly ClaimEnd[], id: string): number {
  if (claim === undefined) throw new Error(`interrupt ${id} could not be claimed under the lock of its job`);
  return claim.until.getTime();
}
