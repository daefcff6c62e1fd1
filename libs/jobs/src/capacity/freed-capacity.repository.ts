import { Injectable } from '@nestjs/common';

import { Config, PrismaService } from '#platform';

import { jobFormat, type JobRef } from '../job.js';
import { ceilingsOf, nextClauses } from './capacity-statement.js';

/** A job that no longer runs: it ended or waits. `threadId` null: no other job is queued behind it. */
export interface InactiveJob {
  readonly workspaceId: string;
  readonly threadId: string | null;
}

/** Whether queued jobs may run because a job has ended or begun to wait. */
export interface Successors {
  /** A job is queued behind the active one of the thread. */
  readonly inThread: boolean;
  /** A job of the workspace is queued. */
  readonly inWorkspace: boolean;
}

/**
 * JSON instead of arrays: Postgres plans each call with arrays again, because their length changes its estimate, and that takes 0.7 ms. `LIMIT 1`
 * instead of EXISTS: for EXISTS it may read all queued jobs into a hash table.
 */
const successorsSql = `SELECT w.thread_id IS NOT NULL AND (SELECT true FROM job j WHERE j.workspace_id = w.workspace_id
      AND j.thread_id = w.thread_id AND j.status = 'queued' AND j.in_line LIMIT 1) IS NOT NULL AS "inThread",
    (SELECT true FROM job j WHERE j.workspace_id = w.workspace_id
      AND j.status = 'queued' AND NOT j.in_line LIMIT 1) IS NOT NULL AS "inWorkspace"
  FROM json_to_recordset($1::json) AS w(i int, workspace_id uuid, thread_id uuid) ORDER BY w.i`;

const nextSql = `${nextClauses({
  workspaces: 'SELECT DISTINCT u.workspace_id FROM unnest($1::uuid[]) AS u(workspace_id)',
  ...{ format: '$2', minAgeMs: '$3' },
  ceilings: { workspace: '$4', user: '$5' },
})}
SELECT n.workspace_id AS "workspaceId", n.id AS "jobId", n.kind
  FROM next n JOIN room r ON r.workspace_id = n.workspace_id AND r.id = n.id ORDER BY r.place, n.created_at`;

/** Makes Postgres reuse one generic plan. Otherwise it plans each call, which takes about ten times as long as the search. */
const keepPlan = "SELECT set_config('plan_cache_mode', 'force_generic_plan', true)";

/** Finds queued jobs that may run because other jobs have ended or wait. Reads as the workers' role and locks nothing. */
@Injectable()
export class FreedCapacityRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: Config,
  ) {}

  /** Whether other jobs are queued behind each of these jobs. Reads the current state: call it after the commit that ended the job. */
  async findSuccessors(jobs: readonly InactiveJob[]): Promise<Successors[]> {
    const wanted = jobs.map(({ workspaceId, threadId }, i) => ({ i, workspace_id: workspaceId, thread_id: threadId }));
    return this.prisma.asWorker((client) =>
      client.$queryRawUnsafe<Successors[]>(successorsSql, JSON.stringify(wanted)),
    );
  }

  /** The queued jobs of these workspaces that fit under the caps, fair between users. */
  async findNext(workspaceIds: readonly string[]): Promise<(JobRef & { readonly kind: string })[]> {
    const { workspace, user } = ceilingsOf(this.config);
    const values = [workspaceIds, jobFormat, 0, workspace, user];
    const [, next] = await this.prisma.asWorker((client) =>
      client.$transaction([
        client.$queryRawUnsafe(keepPlan),
        client.$queryRawUnsafe<(JobRef & { readonly kind: string })[]>(nextSql, ...values),
      ]),
    );
    return next;
  }
}
