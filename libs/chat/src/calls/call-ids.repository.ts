import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

interface Owner {
  readonly workspaceId: string;
  readonly principal: string;
  readonly jobId: string;
}

/**
 * An id means one unfinished job of a principal. Providers count their calls per answer, so an id comes again once its job has
 * ended. The row itself is the lock: of two jobs that want an id at once, the second sees the first.
 */
const takeSql = `INSERT INTO openai_call_id AS t (workspace_id, principal, call_id, job_id)
  SELECT $1, $2, w.id, $3 FROM (SELECT DISTINCT unnest($4::text[]) AS id ORDER BY 1) w
  ON CONFLICT (workspace_id, principal, call_id) DO UPDATE SET job_id = excluded.job_id, reused = t.reused OR t.job_id <> excluded.job_id
   WHERE t.job_id = excluded.job_id OR EXISTS (SELECT 1 FROM job j WHERE j.workspace_id = t.workspace_id
     AND j.id = t.job_id AND j.status IN ('completed', 'failed', 'cancelled'))
  RETURNING call_id AS id`;

/** The ids by which clients name calls they were asked to run: each means one unfinished job, among all of a principal. */
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
