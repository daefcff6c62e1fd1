import { Injectable } from '@nestjs/common';

import type { JobLabels } from '#jobs';
import { Prisma, PrismaService } from '#platform';

/** A call of a job. `id` is the id of its row. */
export interface EndedCallRef {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly id: string;
}

/** A call that ended outside the worker of its job, with its job, for hooks. */
export interface EndedCallRow {
  readonly threadId: string | null;
  readonly principal: string;
  readonly kind: string;
  /** The name of the agent; null: none. */
  readonly agent: string | null;
  readonly workflow: string | null;
  readonly labels: JobLabels;
  readonly callId: string;
  readonly tool: string;
  /** JSON text, as executed. */
  readonly arguments: string;
  readonly isSettled: boolean;
  /** Time since the last start, by the database's clock; 0: the call was not started. */
  readonly durationMs: number;
}

/** Reads calls and their jobs for hooks. */
@Injectable()
export class EndedCallsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Returns null if the call does not exist. The input of a chat contains its agent; if the job chose its agent itself, round 0 contains it.
   */
  async find({ workspaceId, jobId, id }: EndedCallRef): Promise<EndedCallRow | null> {
    const [row] = await this.prisma.queryInWorkspace<EndedCallRow>(
      { workspaceId },
      Prisma.sql`SELECT j.thread_id AS "threadId", j.principal, j.kind, j.workflow_id AS workflow, j.labels, c.call_id AS "callId", c.name AS tool,
    CASE WHEN j.kind = 'chat' THEN coalesce(j.input->'agent', (SELECT r.captured::jsonb FROM round r
      WHERE j.input ? 'routing' AND r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.number = 0))->>'name' END AS agent,
    coalesce(c.executed_arguments, c.approved_arguments, c.arguments) AS arguments,
    c.status IN ('completed', 'error', 'timed_out', 'skipped', 'denied', 'cancelled') AS "isSettled",
    coalesce(least(greatest(extract(epoch FROM clock_timestamp() - c.started_at) * 1000, 0), 2147483647), 0)::int AS "durationMs"
  FROM tool_call c JOIN job j ON j.workspace_id = c.workspace_id AND j.id = c.job_id
 WHERE c.workspace_id = ${workspaceId}::uuid AND c.job_id = ${jobId}::uuid AND c.id = ${id}::uuid`,
    );
    return row ?? null;
  }
}
