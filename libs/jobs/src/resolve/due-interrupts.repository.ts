import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

/** A request that is due for something. */
export interface DueInterrupt {
  readonly workspaceId: string;
  readonly id: string;
  readonly jobId: string;
  readonly kind: string;
  readonly due: 'expiry' | 'claim' | 'reminder';
}

/** A request that outlived its job. */
export interface LeftOver {
  readonly workspaceId: string;
  readonly id: string;
  readonly jobId: string;
}

export interface DueQuery {
  /** Of each sort. */
  readonly limit: number;
  /** Those whose end somebody here can bring about; a reminder is the same for all. */
  readonly kinds: readonly string[];
  /** Ids that are left out for now. */
  readonly without: readonly string[];
}

const found = `i.workspace_id AS "workspaceId", i.id, i.job_id AS "jobId", i.kind`;

/** What nothing can be done about would come first every time, and keep all others from their turn. */
const actable = `i.status = 'open' AND i.id NOT IN (SELECT unnest($3::uuid[])) AND EXISTS (SELECT 1 FROM job j
     WHERE j.workspace_id = i.workspace_id AND j.id = i.job_id AND j.finished_at IS NULL AND j.cancel_requested_at IS NULL)`;

/** Each branch has a partial index of its own that holds open requests only. */
const dueSql = `(SELECT ${found}, 'expiry' AS due FROM interrupt i
   WHERE ${actable} AND i.kind = ANY($2::text[]) AND i.expires_at < clock_timestamp() ORDER BY i.expires_at LIMIT $1)
 UNION ALL
 (SELECT ${found}, 'claim' FROM interrupt i
   WHERE ${actable} AND i.kind = ANY($2::text[]) AND i.validated_at IS NOT NULL AND i.claim_until < clock_timestamp()
     AND (i.expires_at IS NULL OR i.expires_at >= clock_timestamp()) ORDER BY i.claim_until LIMIT $1)
 UNION ALL
 (SELECT ${found}, 'reminder' FROM interrupt i
   WHERE ${actable} AND i.remind_at IS NOT NULL AND i.remind_at < clock_timestamp()
     AND (i.expires_at IS NULL OR i.expires_at >= clock_timestamp()) ORDER BY i.remind_at LIMIT $1)`;

const closeSql = `UPDATE interrupt SET status = 'cancelled', outcome = '{"outcome":"cancelled"}', decided_at = clock_timestamp(),
       remind_at = NULL, claim_until = NULL
  WHERE (workspace_id, id) IN (
    SELECT i.workspace_id, i.id FROM interrupt i JOIN job j ON j.workspace_id = i.workspace_id AND j.id = i.job_id
     WHERE i.status = 'open' AND j.finished_at IS NOT NULL LIMIT $1 FOR UPDATE OF i SKIP LOCKED)
  RETURNING workspace_id AS "workspaceId", id, job_id AS "jobId"`;

/** Requests by their instants, in any workspace. */
@Injectable()
export class DueInterruptsRepository {
  constructor(private readonly postgres: Postgres) {}

  async find({ limit, kinds, without }: DueQuery): Promise<DueInterrupt[]> {
    const values = [limit, kinds, without];
    const { rows } = await this.postgres.engine.query<DueInterrupt>({ name: 'due', text: dueSql, values });
    return rows;
  }

  /** Cancels up to `limit` open requests of jobs that have ended. Their logs have had their last event and stay as they are. */
  async closeLeftOver(limit: number): Promise<LeftOver[]> {
    const { rows } = await this.postgres.engine.query<LeftOver>(closeSql, [limit]);
    return rows;
  }
}
