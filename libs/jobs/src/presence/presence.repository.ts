import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

/** How long a row counts after it was last written: a process that died watches nothing any more. */
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

/** Two processes may come for the same rows: neither waits. */
const forgetSql = `DELETE FROM job_viewer WHERE (workspace_id, job_id, process) IN (
  SELECT workspace_id, job_id, process FROM job_viewer
   WHERE process <> $1 AND seen_at < clock_timestamp() - interval '${staleMs} ms' LIMIT 1000 FOR UPDATE SKIP LOCKED)`;

/** True of a job in SQL that nobody watches; of a sub-job, when nobody watches the job that a person started either. */
export function unwatched(workspaceId: string, jobIds: readonly string[]): string {
  return `NOT EXISTS (SELECT 1 FROM job_viewer v WHERE v.workspace_id = ${workspaceId} AND v.job_id IN (${jobIds.join(', ')})
     AND v.seen_at > clock_timestamp() - interval '${staleMs} ms')`;
}

/** Which jobs are watched, and through which process. */
@Injectable()
export class PresenceRepository {
  constructor(private readonly postgres: Postgres) {}

  /** One statement, however many jobs. No job may be in both lists. */
  async store(process: string, watched: readonly WatchedJob[], left: readonly WatchedJob[]): Promise<void> {
    const values = [process, JSON.stringify(watched), JSON.stringify(left)];
    await this.postgres.engine.query({ name: 'presence', text: storeSql, values });
  }

  /** Removes what other processes have left behind. */
  async forgetStale(process: string): Promise<void> {
    await this.postgres.engine.query({ name: 'stale-presence', text: forgetSql, values: [process] });
  }
}
