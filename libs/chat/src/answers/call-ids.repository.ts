import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

interface Owner {
  readonly workspaceId: string;
  readonly principal: string;
  readonly jobId: string;
}

/**
 * An id goes to another job once the job that had it is over, or has that call settled; one that was taken and is in no row yet
 * is about to be. The row itself is the lock: of two jobs that want it at once, the second sees the first.
 */
const takeSql = `INSERT INTO openai_call_id AS t (workspace_id, principal, call_id, job_id)
  SELECT $1, $2, w.id, $3 FROM (SELECT DISTINCT unnest($4::text[]) AS id ORDER BY 1) w
  ON CONFLICT (workspace_id, principal, call_id) DO UPDATE SET job_id = excluded.job_id
    WHERE t.job_id = excluded.job_id
       OR EXISTS (SELECT 1 FROM job j WHERE j.workspace_id = t.workspace_id AND j.id = t.job_id AND j.finished_at IS NOT NULL)
       OR EXISTS (SELECT 1 FROM tool_call c WHERE c.workspace_id = t.workspace_id AND c.job_id = t.job_id
                     AND c.call_id = t.call_id AND c.finished_at IS NOT NULL)
  RETURNING call_id AS id`;

/** The ids by which clients name calls that wait for them: one call each, among all jobs of a principal. */
@Injectable()
export class CallIdsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Takes ids for a job, before its calls are stored; gives those that are another job's. May be called again. */
  take({ workspaceId, principal, jobId }: Owner, callIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.postgres.withWorkspaceSql(workspaceId, async (client) => {
      const { rows } = await client.query<{ id: string }>(takeSql, [workspaceId, principal, jobId, callIds]);
      const taken = new Set(rows.map(({ id }) => id));
      return new Set(callIds.filter((id) => !taken.has(id)));
    });
  }
}
