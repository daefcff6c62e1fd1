import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService, type PrismaTransaction } from '#platform';

import type { InterruptKind } from '../interrupt.js';
import type { JobRef } from '../job.js';

export interface InterruptRef extends JobRef {
  readonly id: string;
}

/** What is due for an open request of an unfinished job; null if nothing is due yet. */
export interface InterruptTimer {
  readonly due: 'expiry' | 'claim' | 'reminder' | null;
  readonly kind: InterruptKind;
}

export interface DueQuery {
  /** Maximum number of requests of each type. */
  readonly limit: number;
  /** Kinds that this process can end; reminders do not depend on the kind. */
  readonly kinds: readonly string[];
  /** Ids to skip for now. */
  readonly without: readonly string[];
}

const found = Prisma.sql`i.workspace_id AS "workspaceId", i.id, i.job_id AS "jobId"`;

/** Leaves out requests that this sweep has tried, and those of jobs that are ending. Otherwise they would come first in every query. */
const isActable = (without: readonly string[]) => Prisma.sql`i.status = 'open'
  AND i.id NOT IN (SELECT unnest(${[...without]}::uuid[])) AND EXISTS (SELECT 1 FROM job j
     WHERE j.workspace_id = i.workspace_id AND j.id = i.job_id AND j.finished_at IS NULL AND j.cancel_requested_at IS NULL)`;

/** Finds requests by their instants, which the database's clock decides. */
@Injectable()
export class DueInterruptsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The due requests of any workspace. Each branch uses its own partial index, which contains open requests only. */
  find({ limit, without, ...query }: DueQuery): Promise<InterruptRef[]> {
    const [actable, kinds] = [isActable(without), [...query.kinds]];
    return this.prisma.asWorker(
      (client) => client.$queryRaw<InterruptRef[]>`(SELECT ${found} FROM interrupt i
         WHERE ${actable} AND i.kind = ANY(${kinds}::text[]) AND i.expires_at < clock_timestamp()
         ORDER BY i.expires_at LIMIT ${limit})
       UNION
       (SELECT ${found} FROM interrupt i
         WHERE ${actable} AND i.kind = ANY(${kinds}::text[]) AND i.validated_at IS NOT NULL AND i.claim_until < clock_timestamp()
         ORDER BY i.claim_until LIMIT ${limit})
       UNION
       (SELECT ${found} FROM interrupt i
         WHERE ${actable} AND i.remind_at IS NOT NULL AND i.remind_at < clock_timestamp() ORDER BY i.remind_at LIMIT ${limit})`,
    );
  }

  /** Returns null if the request is not open, or is refused. */
  async read(tx: PrismaTransaction, { workspaceId, id }: InterruptRef): Promise<InterruptTimer | null> {
    const [timer = null] = await tx.$queryRaw<InterruptTimer[]>`
      SELECT kind, CASE WHEN expires_at < clock_timestamp() THEN 'expiry'
               WHEN validated_at IS NOT NULL AND claim_until < clock_timestamp() THEN 'claim'
               WHEN remind_at < clock_timestamp() THEN 'reminder' END AS due
        FROM interrupt WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND status = 'open' AND NOT refused`;
    return timer;
  }

  /**
   * When the request is due next, ms since the epoch; null if never. At least a second from now: if a handler leaves its request open, the
   * request must not be delivered in a tight loop.
   */
  async nextInstant(tx: PrismaTransaction, { workspaceId, id }: InterruptRef): Promise<number | null> {
    const [next] = await tx.$queryRaw<{ at: number }[]>`
      SELECT (extract(epoch FROM greatest(clock_timestamp() + interval '1 s', instant)) * 1000)::float8 AS at
        FROM interrupt, least(expires_at, CASE WHEN validated_at IS NOT NULL THEN claim_until END, remind_at) AS instant
       WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND status = 'open' AND NOT refused AND instant IS NOT NULL`;
    return next?.at ?? null;
  }

  /** Cancels up to `limit` open requests of ended jobs. Their logs end with `job-finished`, so no event is appended. */
  closeLeftOver(limit: number): Promise<InterruptRef[]> {
    return this.prisma.asWorker(
      (client) => client.$queryRaw<
        InterruptRef[]
      >`UPDATE interrupt SET status = 'cancelled', outcome = '{"outcome":"cancelled"}',
           decided_at = clock_timestamp(), remind_at = NULL, claim_until = NULL
        WHERE (workspace_id, id) IN (
          SELECT i.workspace_id, i.id FROM interrupt i JOIN job j ON j.workspace_id = i.workspace_id AND j.id = i.job_id
           WHERE i.status = 'open' AND j.finished_at IS NOT NULL LIMIT ${limit} FOR UPDATE OF i SKIP LOCKED)
        RETURNING workspace_id AS "workspaceId", id, job_id AS "jobId"`,
    );
  }
}
