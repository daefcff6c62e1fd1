import { Injectable } from '@nestjs/common';

import { Postgres, type Scope } from '#platform';

/** Idempotency keys, seen from the side of a cancel. */
@Injectable()
export class AdmissionRepository {
  constructor(private readonly postgres: Postgres) {}

  /** The job that `key` has started, or null after leaving a durable marker in its place. */
  findOrMark(scope: Scope, key: string): Promise<string | null> {
    const { workspaceId, principal } = scope;
    return this.postgres.withWorkspaceSql(workspaceId, async (client) => {
      // The same lock as a start takes: whichever commits first is seen by the other.
      await client.query('SELECT 1 FROM workspace WHERE id = $1 FOR NO KEY UPDATE', [workspaceId]);
      const { rows } = await client.query<{ jobId: string | null }>(
        `INSERT INTO admission (workspace_id, principal, key, cancelled_at) VALUES ($1, $2, $3, clock_timestamp())
         ON CONFLICT (workspace_id, principal, key) DO UPDATE SET cancelled_at = CASE
           WHEN admission.job_id IS NULL THEN clock_timestamp() ELSE admission.cancelled_at END
         RETURNING job_id AS "jobId"`,
        [workspaceId, principal, key],
      );
      return rows[0]?.jobId ?? null;
    });
  }
}
