import { Injectable } from '@nestjs/common';

import { Config, hasEnded, Prisma, PrismaService } from '#platform';

import { CANCEL_GRACE_MS } from './queue-state.repository.js';

/** A call of the tool queue that the sweeper must handle. */
export interface DueCall {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly id: string;
}

/** The call of a dead letter, as the ledger records it. */
export interface LetterCall {
  readonly id: string;
  readonly jobId: string;
  readonly callId: string;
  readonly name: string;
  readonly status: string;
  /** Whether the call can run again if its request is sent again. */
  readonly canRedrive: boolean;
}

const found = Prisma.sql`t.workspace_id AS "workspaceId", t.job_id AS "jobId", t.id FROM tool_call t
   WHERE t.status = 'running' AND t.executor = 'queue'`;

/** Three sorts: claim expired, time to stop is over, not claimed by any worker in time. All are in the index of running queue calls. */
const dueSql = (limit: number, tried: readonly string[], claimMs: number) => {
  const untried = Prisma.sql`${found} AND t.id <> ALL(${[...tried]}::uuid[])`;
  return Prisma.sql`
(SELECT ${untried} AND t.exec_until < clock_timestamp() AND t.cancel_requested_at IS NULL
   ORDER BY t.exec_until LIMIT ${limit})
 UNION ALL
 (SELECT ${untried} AND t.cancel_requested_at < clock_timestamp() - ${CANCEL_GRACE_MS}::int * interval '1 ms' LIMIT ${limit})
 UNION ALL
 (SELECT ${untried} AND t.exec_until IS NULL AND t.queued_at < clock_timestamp() - ${claimMs}::int * interval '1 ms' LIMIT ${limit})`;
};

const isHeld = Prisma.sql`t.status = 'running' AND t.executor = 'queue' AND t.exec_until > clock_timestamp()`;

/** Reads calls of the tool queue: of any workspace with the role of the workers, or of one workspace. */
@Injectable()
export class QueuedCallsRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: Config,
  ) {}

  /** Ends the claims of processes that have certainly ended; other claims expire after the lease. */
  async endLostClaims(): Promise<void> {
    const owners = await this.prisma.asWorker(
      (client) => client.$queryRaw<{ owner: string }[]>`
        SELECT DISTINCT t.exec_owner AS owner FROM tool_call t WHERE ${isHeld} AND t.exec_owner IS NOT NULL`,
    );
    const lost = owners.map(({ owner }) => owner).filter(hasEnded);
    if (lost.length === 0) return;
    // The rows are locked in the same order as by renewals.
    await this.prisma.asWorker(
      (client) => client.$executeRaw`
        WITH lost AS (
          SELECT t.workspace_id, t.id FROM tool_call t WHERE ${isHeld} AND t.exec_owner = ANY(${lost}::text[])
           ORDER BY t.workspace_id, t.id FOR NO KEY UPDATE OF t)
        UPDATE tool_call t SET exec_until = clock_timestamp() - interval '1 ms' FROM lost l
         WHERE t.workspace_id = l.workspace_id AND t.id = l.id`,
    );
  }

  /** Up to `limit` of each sort, without the calls that the sweep has tried. */
  due(limit: number, tried: readonly string[]): Promise<DueCall[]> {
    const sql = dueSql(limit, tried, this.config.values.TOOL_QUEUE_TTL_MS);
    return this.prisma.asWorker((client) => client.$queryRaw<DueCall[]>(sql));
  }

  /**
   * Unclaimed calls with an id after `after` that were queued at least LEASE_MS ago; their queue messages may be lost. A younger call may be
   * about to be claimed.
   */
  waiting(limit: number, after: string): Promise<DueCall[]> {
    const { LEASE_MS, TOOL_QUEUE_TTL_MS } = this.config.values;
    return this.prisma.asWorker(
      (client) => client.$queryRaw<DueCall[]>`
        SELECT ${found} AND t.exec_until IS NULL AND t.cancel_requested_at IS NULL AND t.id > ${after}::uuid
           AND t.queued_at BETWEEN clock_timestamp() - ${TOOL_QUEUE_TTL_MS}::int * interval '1 ms'
                               AND clock_timestamp() - ${LEASE_MS}::int * interval '1 ms'
         ORDER BY t.id LIMIT ${limit}`,
    );
  }

  /** For metrics: the number of calls that wait for a worker, and how long the oldest has waited, in ms. */
  async depth(): Promise<{ readonly waiting: number; readonly oldestMs: number }> {
    const [row] = await this.prisma.asWorker(
      (client) => client.$queryRaw<{ waiting: number; oldestMs: number }[]>`
        SELECT count(*)::int AS waiting,
               coalesce(extract(epoch FROM clock_timestamp() - min(queued_at)) * 1000, 0)::float8 AS "oldestMs"
          FROM tool_call WHERE status = 'running' AND executor = 'queue' AND exec_until IS NULL`,
    );
    return row ?? { waiting: 0, oldestMs: 0 };
  }

  /** Returns those of these calls that belong to the workspace, by their ids. */
  async calls(workspaceId: string, ids: readonly string[]): Promise<ReadonlyMap<string, LetterCall>> {
    const rows = await this.prisma.queryInWorkspace<LetterCall>(
      { workspaceId },
      Prisma.sql`
        SELECT id, job_id AS "jobId", call_id AS "callId", name, status,
               status = 'running' AND executor = 'queue' AND cancel_requested_at IS NULL
                 AND (exec_until IS NULL OR (effect IN ('pure', 'idempotent') AND exec_until < clock_timestamp())) AS "canRedrive"
          FROM tool_call WHERE workspace_id = ${workspaceId}::uuid AND id = ANY(${ids}::uuid[])`,
    );
    return new Map(rows.map((call) => [call.id, call]));
  }

  /** Returns the job of a call and the user who started it; null: the workspace has no such call. */
  jobOf(workspaceId: string, id: string): Promise<{ jobId: string; createdBy: string | null } | null> {
    return this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.toolCall.findUnique({
        where: { workspaceId_id: { workspaceId, id } },
        select: { jobId: true, createdBy: true },
      }),
    );
  }
}
