import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

/** A call of the ledger, as a policy sees it. */
export interface PastCall {
  readonly id: string;
  readonly jobId: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly arguments: string;
  /** `user:<id>` or `key:<id>`: who started its job. */
  readonly principal: string;
  readonly userId: string | null;
  /** The role that user has now; null: none. */
  readonly role: string | null;
}

interface Row {
  readonly id: string;
  readonly job_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly principal: string;
  readonly created_by: string | null;
  readonly role: string | null;
}

// Calls that were skipped never came before a policy.
const pageSql = `SELECT t.id, t.job_id, t.name, t.arguments, j.principal, j.created_by, m.role
  FROM tool_call t
  JOIN job j ON j.workspace_id = t.workspace_id AND j.id = t.job_id
  LEFT JOIN membership m ON m.workspace_id = j.workspace_id AND m.user_id = j.created_by
 WHERE t.workspace_id = $1 AND t.id < $2 AND t.status <> 'skipped'
 ORDER BY t.workspace_id DESC, t.id DESC LIMIT $3`;

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The calls of a workspace, for asking a policy about them again. The caller has asked who may. */
@Injectable()
export class PastCallsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Newest first, older than the call `before`; at most `limit`. */
  async page(workspaceId: string, before: string | null, limit: number): Promise<readonly PastCall[]> {
    const statement = { name: 'past-calls', text: pageSql, values: [workspaceId, before ?? lastId, limit] };
    const rows = await this.postgres.readInWorkspace<Row>(workspaceId, statement);
    return rows.map(({ job_id: jobId, created_by: userId, ...rest }) => ({ ...rest, jobId, userId }));
  }
}
