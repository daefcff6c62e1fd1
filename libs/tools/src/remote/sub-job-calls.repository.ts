import { Injectable } from '@nestjs/common';

import type { JobRef, JobStatus } from '#jobs';
import { Prisma, PrismaService } from '#platform';

/** A call that runs as a sub-job. */
export interface SubJobCallRef extends JobRef {
  /** The id of the ledger row. */
  readonly id: string;
}

/** A call that runs as a sub-job, and the sub-job if it has started. */
export interface SubJobCall extends SubJobCallRef {
  readonly round: number;
  readonly ordinal: number;
  readonly callId: string;
  readonly name: string;
  /** The arguments to run, as JSON text. */
  readonly arguments: string;
  readonly toolVersion: string | null;
  /** The thread of the parent job. */
  readonly threadId: string | null;
  readonly principal: string;
  readonly epoch: number;
  readonly subJob: SubJob | null;
}

/** The fields of a sub-job that its call reads. */
export interface SubJob {
  readonly id: string;
  readonly status: JobStatus;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** The text of a completed sub-job. */
  readonly content: string | null;
}

const ofCall = Prisma.sql`s.workspace_id = t.workspace_id AND s.parent_job_id = t.job_id AND s.parent_call_id = t.id`;

/** Reads calls that run as sub-jobs, and the sub-jobs. */
@Injectable()
export class SubJobCallsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns null if the call does not run, or not as a sub-job. */
  async find({ workspaceId, id }: SubJobCallRef): Promise<SubJobCall | null> {
    const [row] = await this.prisma.queryInWorkspace<SubJobCall>(
      { workspaceId },
      Prisma.sql`SELECT t.workspace_id AS "workspaceId", t.job_id AS "jobId", t.id, t.round, t.ordinal, t.call_id AS "callId", t.name,
       coalesce(t.executed_arguments, t.arguments) AS arguments, t.tool_version AS "toolVersion", j.thread_id AS "threadId",
       j.principal, j.lease_epoch AS epoch,
       CASE WHEN s.id IS NOT NULL THEN json_build_object('id', s.id, 'status', s.status, 'error', s.error, 'content',
         CASE WHEN s.status = 'completed' THEN (SELECT coalesce(string_agg(r.text, '' ORDER BY r.number), '') FROM round r
           WHERE r.workspace_id = s.workspace_id AND r.job_id = s.id AND r.node_run IS NULL) END) END AS "subJob"
  FROM tool_call t JOIN job j ON j.workspace_id = t.workspace_id AND j.id = t.job_id LEFT JOIN job s ON ${ofCall}
 WHERE t.workspace_id = ${workspaceId}::uuid AND t.id = ${id}::uuid AND t.status = 'running' AND t.executor = 'job'`,
    );
    return row ?? null;
  }

  /**
   * Returns up to `limit` calls whose sub-job has ended or was never started: of one parent, or of all workspaces; without the calls
   * `without`. A partial index contains the running calls.
   */
  findDue(parent: JobRef | null, limit: number, without: readonly string[]): Promise<readonly SubJobCallRef[]> {
    const { workspaceId = null, jobId = null } = parent ?? {};
    return this.prisma.asWorker(
      (client) => client.$queryRaw<
        SubJobCallRef[]
      >`SELECT t.workspace_id AS "workspaceId", t.job_id AS "jobId", t.id FROM tool_call t LEFT JOIN job s ON ${ofCall}
 WHERE t.status = 'running' AND t.executor = 'job' AND (${workspaceId}::uuid IS NULL OR (t.workspace_id = ${workspaceId}::uuid AND t.job_id = ${jobId}::uuid))
   AND t.id <> ALL(${[...without]}::uuid[]) AND (s.id IS NULL OR s.status IN ('completed', 'failed', 'cancelled')) LIMIT ${limit}`,
    );
  }

  /**
   * Returns up to `limit` running sub-jobs whose results are no longer needed: of one parent, or of all workspaces. A call that runs as a
   * sub-job ends with its own job at the latest, so the call decides for both. A chat that a call only started runs until its parent is
   * cancelled.
   */
  findUnwanted(parent: JobRef | null, limit: number, without: readonly string[]): Promise<readonly JobRef[]> {
    const { workspaceId = null, jobId = null } = parent ?? {};
    return this.prisma.asWorker(
      (client) => client.$queryRaw<JobRef[]>`SELECT s.workspace_id AS "workspaceId", s.id AS "jobId" FROM job s
  LEFT JOIN job p ON p.workspace_id = s.workspace_id AND p.id = s.parent_job_id
  LEFT JOIN tool_call t ON t.workspace_id = s.workspace_id AND t.job_id = s.parent_job_id AND t.id = s.parent_call_id
 WHERE s.parent_job_id IS NOT NULL AND s.id <> ALL(${[...without]}::uuid[]) AND s.status IN ('queued', 'running', 'waiting')
   AND (${workspaceId}::uuid IS NULL OR (s.workspace_id = ${workspaceId}::uuid AND s.parent_job_id = ${jobId}::uuid))
   AND CASE WHEN s.kind = 'chat' THEN p.status = 'cancelled' ELSE t.id IS NULL OR t.status <> 'running' END
   AND (s.status <> 'running' OR s.cancel_requested_at IS NULL) LIMIT ${limit}`,
    );
  }
}
