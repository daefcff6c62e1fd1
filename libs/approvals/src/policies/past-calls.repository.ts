import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

/** A call of the ledger, as a policy sees it. */
export interface PastCall {
  readonly id: string;
  readonly jobId: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly arguments: string;
  /** `user:<id>` or `key:<id>`: the requester of its job. */
  readonly principal: string;
  readonly userId: string | null;
  /** The role that user has now; null: none. */
  readonly role: string | null;
}

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The calls of a workspace, to evaluate a policy for them again. The caller has checked the right. */
@Injectable()
export class PastCallsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Newest first, older than the call `before`; at most `limit`. Calls that were skipped never came before a policy. */
  page(workspaceId: string, before: string | null, limit: number): Promise<readonly PastCall[]> {
    return this.prisma.queryInWorkspace<PastCall>(
      { workspaceId },
      Prisma.sql`SELECT t.id, t.job_id AS "jobId", t.name, t.arguments, j.principal, j.created_by AS "userId", m.role
        FROM tool_call t
        JOIN job j ON j.workspace_id = t.workspace_id AND j.id = t.job_id
        LEFT JOIN membership m ON m.workspace_id = j.workspace_id AND m.user_id = j.created_by
       WHERE t.workspace_id = ${workspaceId}::uuid AND t.id < ${before ?? lastId}::uuid AND t.status <> 'skipped'
       ORDER BY t.workspace_id DESC, t.id DESC LIMIT ${limit}`,
    );
  }
}
