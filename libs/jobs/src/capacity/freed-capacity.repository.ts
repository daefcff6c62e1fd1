import { Injectable } from '@nestjs/common';

import { Config, Postgres } from '#platform';

import { jobFormat, type JobRef } from '../job.js';
import { ceilingsOf, nextClauses } from './room-statement.js';

/** A job that does not run any more; `threadId` null: no other job waits for its end in a thread. */
export interface RestedJob {
  readonly workspaceId: string;
  readonly threadId: string | null;
}

/** What may run now that a job has come to rest. */
export interface Successors {
  /** A job is queued behind the active one of the thread. */
  readonly inThread: boolean;
  /** A job of the workspace is queued. */
  readonly inWorkspace: boolean;
}

const successorsSql = `SELECT w.i,
    w.thread_id IS NOT NULL AND EXISTS (SELECT 1 FROM job j WHERE j.workspace_id = w.workspace_id AND j.thread_id = w.thread_id
      AND j.status = 'queued' AND j.in_line) AS "inThread",
    EXISTS (SELECT 1 FROM job j WHERE j.workspace_id = w.workspace_id AND j.status = 'queued' AND NOT j.in_line) AS "inWorkspace"
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS w(workspace_id, thread_id, i)`;

const nextSql = `${nextClauses({
  workspaces: 'SELECT DISTINCT u.workspace_id FROM unnest($1::uuid[]) AS u(workspace_id)',
  ...{ format: '$2', minAgeMs: '$3' },
  ceilings: { workspace: '$4', user: '$5' },
})}
SELECT n.workspace_id AS "workspaceId", n.id AS "jobId", n.kind
  FROM next n JOIN room r ON r.workspace_id = n.workspace_id AND r.id = n.id ORDER BY r.place, n.created_at`;

/** Looks for queued jobs that may run because others have come to rest, as the engine's role. Locks nothing. */
@Injectable()
export class FreedCapacityRepository {
  constructor(
    private readonly postgres: Postgres,
    private readonly config: Config,
  ) {}

  /** Of each job, what waits for it; as of now, so ask after its end is committed. */
  async findSuccessors(rested: readonly RestedJob[]): Promise<Successors[]> {
    const { rows } = await this.postgres.engine.query<Successors & { readonly i: string }>({
      name: 'successors',
      text: successorsSql,
      values: [rested.map(({ workspaceId }) => workspaceId), rested.map(({ threadId }) => threadId)],
    });
    const byIndex = new Map(rows.map(({ i, ...successors }) => [Number(i), successors]));
    return rested.map((_, i) => byIndex.get(i + 1) ?? { inThread: false, inWorkspace: false });
  }

  /** The queued jobs of these workspaces that the caps have room for, fair between users. */
  async findNext(workspaceIds: readonly string[]): Promise<(JobRef & { readonly kind: string })[]> {
    const { workspace, user } = ceilingsOf(this.config);
    const { rows } = await this.postgres.engine.query<JobRef & { readonly kind: string }>({
      name: 'next-jobs',
      text: nextSql,
      values: [workspaceIds, jobFormat, 0, workspace, user],
    });
    return rows;
  }
}
