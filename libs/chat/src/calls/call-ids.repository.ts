import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

interface Owner {
  readonly workspaceId: string;
  readonly principal: string;
  readonly jobId: string;
}

/** The ids by which `/v1` clients name calls. Among all unfinished jobs of a principal, an id belongs to one job. */
@Injectable()
export class CallIdsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Reserves ids for a job before its calls are stored; returns those that belong to another job. May be called again. Providers number their
   * calls per response, so an id may be used again once its job has ended. The row itself is the lock: if two jobs reserve an id at once, the
   * second one sees the row of the first.
   */
  async take({ workspaceId, principal, jobId }: Owner, callIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.prisma.queryInWorkspace<{ id: string }>(
      { workspaceId },
      Prisma.sql`INSERT INTO openai_call_id AS t (workspace_id, principal, call_id, job_id)
        SELECT ${workspaceId}::uuid, ${principal}, w.id, ${jobId}::uuid
          FROM (SELECT DISTINCT unnest(${[...callIds]}::text[]) AS id ORDER BY 1) w
        ON CONFLICT (workspace_id, principal, call_id)
        DO UPDATE SET job_id = excluded.job_id, reused = t.reused OR t.job_id <> excluded.job_id
         WHERE t.job_id = excluded.job_id OR EXISTS (SELECT 1 FROM job j WHERE j.workspace_id = t.workspace_id
           AND j.id = t.job_id AND j.status IN ('completed', 'failed', 'cancelled'))
        RETURNING call_id AS id`,
    );
    const taken = new Set(rows.map(({ id }) => id));
    return new Set(callIds.filter((id) => !taken.has(id)));
  }
}
