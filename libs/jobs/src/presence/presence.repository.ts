import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

/** A row counts for this long after its last refresh, so that the viewers of a dead process stop counting. */
export const staleMs = 45_000;

export interface WatchedJob {
  readonly workspaceId: string;
  readonly jobId: string;
}

const jobs = (parameter: string): string =>
  `json_to_recordset(${parameter}::json) AS w("workspaceId" uuid, "jobId" uuid)`;

const storeSql = `WITH gone AS (
  DELETE FROM job_viewer v USING ${jobs('$3')}
   WHERE v.workspace_id = w."workspaceId" AND v.job_id = w."jobId" AND v.process = $1)
INSERT INTO job_viewer (workspace_id, job_id, process, seen_at)
SELECT w."workspaceId", w."jobId", $1, clock_timestamp() FROM ${jobs('$2')}
ON CONFLICT (workspace_id, job_id, process) DO UPDATE SET seen_at = excluded.seen_at`;

/** SKIP LOCKED: two processes may delete the same rows at the same time, and neither waits. */
const forgetSql = `DELETE FROM job_viewer WHERE (workspace_id, job_id, process) IN (
  SELECT workspace_id, job_id, process FROM job_viewer
   WHERE process <> $1 AND seen_at < clock_timestamp() - interval '${staleMs} ms' LIMIT 1000 FOR UPDATE SKIP LOCKED)`;

/** SQL condition: the job has no viewer. For a sub-job, pass its root job as well. */
export function unwatched(workspaceId: string, jobIds: readonly string[]): string {
  return `NOT EXISTS (SELECT 1 FROM job_viewer v WHERE v.workspace_id = ${workspaceId} AND v.job_id IN (${jobIds.join(', ')})
     AND v.seen_at > clock_timestamp() - interval '${staleMs} ms')`;
}

/** Which jobs have viewers, and in which process. */
@Injectable()
export class PresenceRepository {
  constructor(private readonly postgres: Postgres) {}

  /** One statement for any number of jobs. No job may be in both lists. */
  async store(process: string, watched: readonly WatchedJob[], left: readonly WatchedJob[]): Promise<void> {
    const values = [process, JSON.stringify(watched), JSON.stringify(left)];
    await this.postgres.engine.query({ name: 'presence', text: storeSql, values });
  }

  /** Deletes stale rows of other processes. */
  async forgetStale(process: string): Promise<void> {
    await this.postgres.engine.query({ name: 'stale-presence', text: forgetSql, values: [process] });
  }
}
