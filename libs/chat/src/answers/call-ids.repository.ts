import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

interface Owner {
  readonly workspaceId: string;
  readonly principal: string;
  readonly jobId: string;
}

/**
 * An id stays with the job that had it first, as long as that is kept: clients send whole conversations, and an id in one must
 * never mean a call of another. The row itself is the lock: of two jobs that want it at once, the second sees the first.
 */
const takeSql = `INSERT INTO openai_call_id AS t (workspace_id, principal, call_id, job_id)
  SELECT $1, $2, w.id, $3 FROM (SELECT DISTINCT unnest($4::text[]) AS id ORDER BY 1) w
  ON CONFLICT (workspace_id, principal, call_id) DO UPDATE SET job_id = excluded.job_id WHERE t.job_id = excluded.job_id
  RETURNING call_id AS id`;

/** The ids by which clients name calls they were asked to run: each means one job, among all of a principal. */
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
