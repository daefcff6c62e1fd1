import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

/** A request that expired, whose claim lapsed, or whose reminder is due. */
export interface DueInterrupt {
  readonly workspaceId: string;
  readonly id: string;
  readonly jobId: string;
  readonly kind: string;
  readonly due: 'expiry' | 'claim' | 'reminder';
}

/** An open request whose job has ended. */
export interface LeftoverRequest {
  readonly workspaceId: string;
  readonly id: string;
  readonly jobId: string;
}

export interface DueQuery {
  /** At most this many of each type. */
  readonly limit: number;
  /** Kinds that this process can end; reminders do not depend on the kind. */
  readonly kinds: readonly string[];
  /** Ids to skip for now. */
  readonly without: readonly string[];
}

const found = Prisma.sql`i.workspace_id AS "workspaceId", i.id, i.job_id AS "jobId", i.kind`;

/** Skips requests that cannot be settled: they would come first in every query and block the others. */
const actable = (without: readonly string[]) => Prisma.sql`i.status = 'open'
  AND i.id NOT IN (SELECT unnest(${[...without]}::uuid[])) AND EXISTS (SELECT 1 FROM job j
     WHERE j.workspace_id = i.workspace_id AND j.id = i.job_id AND j.finished_at IS NULL AND j.cancel_requested_at IS NULL)`;

/** Finds requests of any workspace by their instants. */
@Injectable()
export class DueInterruptsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Each branch uses a partial index of its own that contains open requests only. */
  find({ limit, without, ...query }: DueQuery): Promise<DueInterrupt[]> {
    const [isActable, kinds] = [actable(without), [...query.kinds]];
    return this.prisma.asEngine(
      (client) => client.$queryRaw<DueInterrupt[]>`(SELECT ${found}, 'expiry' AS due FROM interrupt i
         WHERE ${isActable} AND i.kind = ANY(${kinds}::text[]) AND i.expires_at < clock_timestamp()
         ORDER BY i.expires_at LIMIT ${limit})
       UNION ALL
       (SELECT ${found}, 'claim' FROM interrupt i
         WHERE ${isActable} AND i.kind = ANY(${kinds}::text[]) AND i.validated_at IS NOT NULL AND i.claim_until < clock_timestamp()
           AND (i.expires_at IS NULL OR i.expires_at >= clock_timestamp()) ORDER BY i.claim_until LIMIT ${limit})
       UNION ALL
       (SELECT ${found}, 'reminder' FROM interrupt i
         WHERE ${isActable} AND i.remind_at IS NOT NULL AND i.remind_at < clock_timestamp()
           AND (i.expires_at IS NULL OR i.expires_at >= clock_timestamp()) ORDER BY i.remind_at LIMIT ${limit})`,
    );
  }

  /** Cancels up to `limit` open requests of ended jobs. Their logs end with `job-finished`, so no event is appended. */
  closeLeftOver(limit: number): Promise<LeftoverRequest[]> {
    return this.prisma.asEngine(
      (client) => client.$queryRaw<
        LeftoverRequest[]
      >`UPDATE interrupt SET status = 'cancelled', outcome = '{"outcome":"cancelled"}',
           decided_at = clock_timestamp(), remind_at = NULL, claim_until = NULL
        WHERE (workspace_id, id) IN (
          SELECT i.workspace_id, i.id FROM interrupt i JOIN job j ON j.workspace_id = i.workspace_id AND j.id = i.job_id
           WHERE i.status = 'open' AND j.finished_at IS NOT NULL LIMIT ${limit} FOR UPDATE OF i SKIP LOCKED)
        RETURNING workspace_id AS "workspaceId", id, job_id AS "jobId"`,
    );
  }
}
