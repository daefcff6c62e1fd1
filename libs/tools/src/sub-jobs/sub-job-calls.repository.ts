import { Injectable } from '@nestjs/common';

import type { JobRef, JobStatus } from '#jobs';
import { Postgres } from '#platform';

/** A call that runs as a job of its own. */
export interface SubJobCallRef extends JobRef {
  /** The ledger row's id. */
  readonly id: string;
}

/** Such a call, and the job as far as there is one. */
export interface SubJobCall extends SubJobCallRef {
  readonly round: number;
  readonly ordinal: number;
  readonly callId: string;
  readonly name: string;
  /** JSON text that is to be run. */
  readonly arguments: string;
  readonly toolVersion: string | null;
  /** Of the job that waits for it. */
  readonly threadId: string | null;
  readonly principal: string;
  readonly epoch: number;
  readonly subJob: SubJob | null;
}

/** A sub-job as its call sees it. */
export interface SubJob {
  readonly id: string;
  readonly status: JobStatus;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** What it says, once it is completed. */
  readonly content: string | null;
}

const ofCall = `s.workspace_id = t.workspace_id AND s.parent_job_id = t.job_id AND s.parent_call_id = t.id`;
const ended = `('completed', 'failed', 'cancelled')`;

const findSql = `SELECT t.workspace_id AS "workspaceId", t.job_id AS "jobId", t.id, t.round, t.ordinal, t.call_id AS "callId", t.name,
       coalesce(t.executed_arguments, t.arguments) AS arguments, t.tool_version AS "toolVersion", j.thread_id AS "threadId",
       j.principal, j.lease_epoch AS epoch,
       CASE WHEN s.id IS NOT NULL THEN json_build_object('id', s.id, 'status', s.status, 'error', s.error, 'content',
         CASE WHEN s.status = 'completed' THEN (SELECT coalesce(string_agg(r.text, '' ORDER BY r.number), '') FROM round r
           WHERE r.workspace_id = s.workspace_id AND r.job_id = s.id AND r.node_run IS NULL) END) END AS "subJob"
  FROM tool_call t JOIN job j ON j.workspace_id = t.workspace_id AND j.id = t.job_id LEFT JOIN job s ON ${ofCall}
 WHERE t.workspace_id = $1 AND t.id = $2 AND t.status = 'running' AND t.executor = 'job'`;

/** Whose job has ended, or was never started. The calls that run are in an index of their own. */
const dueSql = `SELECT t.workspace_id AS "workspaceId", t.job_id AS "jobId", t.id FROM tool_call t LEFT JOIN job s ON ${ofCall}
 WHERE t.status = 'running' AND t.executor = 'job' AND ($1::uuid IS NULL OR (t.workspace_id = $1 AND t.job_id = $2))
   AND (s.id IS NULL OR s.status IN ${ended}) LIMIT $3`;

/**
 * A call whose work is a job ends with its own job at the latest, so it says for both whether the sub-job is still wanted. A chat was only
 * started by its call: it is wanted until its parent is stopped, whatever else becomes of that.
 */
const unwantedSql = `SELECT s.workspace_id AS "workspaceId", s.id AS "jobId" FROM job s
  LEFT JOIN job p ON p.workspace_id = s.workspace_id AND p.id = s.parent_job_id
  LEFT JOIN tool_call t ON t.workspace_id = s.workspace_id AND t.job_id = s.parent_job_id AND t.id = s.parent_call_id
 WHERE s.parent_job_id IS NOT NULL AND s.status IN ('queued', 'running', 'waiting')
   AND ($1::uuid IS NULL OR (s.workspace_id = $1 AND s.parent_job_id = $2))
   AND CASE WHEN s.kind = 'chat' THEN p.status = 'cancelled' ELSE t.id IS NULL OR t.status <> 'running' END
   AND (s.status <> 'running' OR s.cancel_requested_at IS NULL) LIMIT $3`;

/** Calls whose work is a job of its own, beside these jobs. */
@Injectable()
export class SubJobCallsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Null: it does not run (any more), or not as a job. */
  async find({ workspaceId, id }: SubJobCallRef): Promise<SubJobCall | null> {
    const statement = { name: 'sub-job-call', text: findSql, values: [workspaceId, id] };
    const [row] = await this.postgres.readInWorkspace<SubJobCall>(workspaceId, statement);
    return row ?? null;
  }

  /** Up to `limit` that something has to be done about: of one job, or of any workspace's. */
  async findDue(parent: JobRef | null, limit: number): Promise<readonly SubJobCallRef[]> {
    const values = [parent?.workspaceId ?? null, parent?.jobId ?? null, limit];
    return (await this.postgres.engine.query<SubJobCallRef>({ name: 'due-sub-jobs', text: dueSql, values })).rows;
  }

  /** Up to `limit` sub-jobs that nobody waits for any more and nobody has stopped: of one job, or of any workspace's. */
  async findUnwanted(parent: JobRef | null, limit: number): Promise<readonly JobRef[]> {
    const values = [parent?.workspaceId ?? null, parent?.jobId ?? null, limit];
    return (await this.postgres.engine.query<JobRef>({ name: 'unwanted-sub-jobs', text: unwantedSql, values })).rows;
  }
}
