import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

import { personKinds } from '../interrupt.js';
import type { JobRef } from '../job.js';

/** Why a job was cancelled that had to wait for a person, and was not to. */
export const humanWait = 'human_wait';

/** The job that a client started: the wish was its own. */
const dueSql = `SELECT DISTINCT j.workspace_id AS "workspaceId", j.id AS "jobId"
  FROM interrupt i JOIN job j ON j.workspace_id = i.workspace_id AND j.id = coalesce(i.root_job_id, i.job_id)
 WHERE i.status = 'open' AND i.refused AND j.finished_at IS NULL AND j.cancel_requested_at IS NULL
   AND j.id NOT IN (SELECT unnest($2::uuid[])) LIMIT $1`;

/** A worker of an older build opens requests without saying that they are refused; the job says it. */
const isRefused = `(i.refused OR i.kind IN (${personKinds.map((kind) => `'${kind}'`).join(', ')}) AND EXISTS (
    SELECT 1 FROM job j WHERE j.workspace_id = $1 AND j.id = $2 AND j.input->>'humanWait' = 'reject'))`;

const openSql = `SELECT EXISTS (SELECT 1 FROM interrupt i
  WHERE i.workspace_id = $1 AND i.job_id = $2 AND i.status = 'open' AND ${isRefused})
 OR EXISTS (SELECT 1 FROM interrupt i
  WHERE i.workspace_id = $1 AND i.root_job_id = $2 AND i.status = 'open' AND ${isRefused})
 OR EXISTS (SELECT 1 FROM job j WHERE j.workspace_id = $1 AND j.id = $2 AND j.reason = '${humanWait}') AS found`;

/** Requests to people that no person is to answer. */
@Injectable()
export class RefusedWaitsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Jobs of any workspace that are to be cancelled for what they, or jobs below, have asked. */
  async due(limit: number, without: readonly string[]): Promise<JobRef[]> {
    const { rows } = await this.postgres.engine.query<JobRef>({
      name: 'refused-waits',
      text: dueSql,
      values: [limit, without],
    });
    return rows;
  }

  /** Whether this job, or one below, has asked somebody whom it is not to wait for, also once it was cancelled for that. */
  async isDue({ workspaceId, jobId }: JobRef): Promise<boolean> {
    const [row] = await this.postgres.readInWorkspace<{ found: boolean }>(workspaceId, {
      name: 'refused-wait',
      text: openSql,
      values: [workspaceId, jobId],
    });
    return row?.found ?? false;
  }
}
