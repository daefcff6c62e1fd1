import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

/** A call of the ledger, with the fields that a policy reads. */
export interface PastCall {
  readonly id: string;
  readonly jobId: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly arguments: string;
  /** The requester of its job: `user:<id>` or `key:<id>`. */
  readonly principal: string;
  readonly userId: string | null;
  /** The current role of that user; null: the user has none. */
  readonly role: string | null;
}

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Reads the calls of a workspace, to evaluate a policy for them again. The caller has checked the rights. */
@Injectable()
export class PastCallsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Returns at most `limit` calls, newest first, that are older than the call `before`. Leaves out skipped calls, because no policy was
   * evaluated for them.
   */
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
