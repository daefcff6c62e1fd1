import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

import type { JobRef } from '../run/lease.repository.js';

/** A call ends with its job at the latest, so it says for both whether the sub-job is still wanted. */
const unwantedSql = `SELECT j.workspace_id AS "workspaceId", j.id AS "jobId" FROM job j
  LEFT JOIN tool_call t ON t.workspace_id = j.workspace_id AND t.id = j.parent_call_id AND t.job_id = j.parent_job_id
 WHERE j.parent_job_id IS NOT NULL AND j.status IN ('queued', 'running', 'waiting')
   AND ($1::uuid IS NULL OR (j.workspace_id = $1 AND j.parent_job_id = $2))
   AND (t.id IS NULL OR t.status <> 'running') AND (j.status <> 'running' OR j.cancel_requested_at IS NULL) LIMIT $3`;

/** Jobs below other jobs. */
@Injectable()
export class SubJobsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Up to `limit` that nobody waits for any more and nobody has stopped: of one job, or of any workspace's. */
  async findUnwanted(parent: JobRef | null, limit: number): Promise<readonly JobRef[]> {
    const values = [parent?.workspaceId ?? null, parent?.jobId ?? null, limit];
    return (await this.postgres.engine.query<JobRef>({ name: 'unwanted-sub-jobs', text: unwantedSql, values })).rows;
  }
}
