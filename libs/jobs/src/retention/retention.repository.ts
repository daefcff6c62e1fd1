import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

import { deltaTypes } from '../events/job-event.js';
import type { JobRef } from '../job.js';

/** Where the walk through the workspaces stands: the last one visited; null: at the beginning. */
export type WorkspaceCursor = string | null;

const trimSql = `WITH old AS (
  SELECT j.workspace_id, j.id FROM job j JOIN workspace w ON w.id = j.workspace_id
   WHERE j.finished_at IS NOT NULL AND NOT j.deltas_trimmed
     AND j.finished_at < clock_timestamp() - coalesce(w.delta_retention_ms, $1::bigint) * interval '1 ms'
   ORDER BY j.finished_at LIMIT $2 FOR NO KEY UPDATE OF j SKIP LOCKED),
marked AS (
  UPDATE job j SET deltas_trimmed = true FROM old WHERE j.workspace_id = old.workspace_id AND j.id = old.id
  RETURNING j.workspace_id, j.id),
gone AS (
  DELETE FROM job_event e USING marked m WHERE e.workspace_id = m.workspace_id AND e.job_id = m.id AND e.type = ANY($3))
SELECT count(*)::int AS jobs FROM marked`;

/**
 * A job cannot end before it began, and its id tells when that was: the bound makes the search a short walk from the oldest
 * end of the index, whatever the number of jobs that are kept. A job whose key was given today stays: its repetition must
 * not start another one.
 */
const expiredSql = `SELECT w.id AS "workspaceId", old.id AS "jobId" FROM workspace w
 CROSS JOIN LATERAL (SELECT clock_timestamp() - coalesce(w.job_retention_ms, $1::bigint) * interval '1 ms' AS since) c
 CROSS JOIN LATERAL (SELECT lpad(to_hex((extract(epoch FROM c.since) * 1000)::bigint), 12, '0') AS hex) h
 CROSS JOIN unnest(ARRAY['completed', 'failed', 'cancelled']) AS s(status)
 CROSS JOIN LATERAL (
  SELECT j.id FROM job j WHERE j.workspace_id = w.id AND j.status = s.status AND j.finished_at < c.since
     AND j.id <= (substr(h.hex, 1, 8) || '-' || substr(h.hex, 9) || '-ffff-ffff-ffffffffffff')::uuid
     AND NOT EXISTS (SELECT 1 FROM admission a WHERE a.workspace_id = j.workspace_id AND a.job_id = j.id
                        AND a.created_at > clock_timestamp() - interval '1 day')
   ORDER BY j.id LIMIT $2) old
 WHERE coalesce(w.job_retention_ms, $1::bigint) > 0 LIMIT $2`;

/** The conversation keeps what the job has said: the text of its rounds becomes the message's own. */
const keepTextSql = `UPDATE message m SET job_id = NULL, content = to_jsonb(coalesce((
    SELECT string_agg(r.text, '' ORDER BY r.number) FROM round r WHERE r.workspace_id = m.workspace_id AND r.job_id = m.job_id
      AND r.node_run IS NULL), ''))
 WHERE m.workspace_id = $1 AND m.job_id = ANY($2::uuid[])`;

/** What has been kept long enough. Candidates are found as the engine's role; deletions run inside their workspace. */
@Injectable()
export class RetentionRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Removes the deltas of up to `limit` jobs that ended more than `retentionMs` (or their workspace's own) ago. */
  async trimDeltas(retentionMs: number, limit: number): Promise<number> {
    const { rows } = await this.postgres.engine.query<{ jobs: number }>(trimSql, [retentionMs, limit, deltaTypes]);
    return rows[0]?.jobs ?? 0;
  }

  /** Up to `limit` jobs that ended more than `retentionMs` (or their workspace's own) ago; 0 keeps them for ever. */
  async findExpired(retentionMs: number, limit: number): Promise<JobRef[]> {
    return (await this.postgres.engine.query<JobRef>(expiredSql, [retentionMs, limit])).rows;
  }

  /** Deletes finished jobs with everything that is theirs, after their text was handed to the conversation. */
  deleteJobs(workspaceId: string, jobIds: readonly string[]): Promise<number> {
    return this.postgres.withWorkspaceSql(workspaceId, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        `SELECT id FROM job WHERE workspace_id = $1 AND id = ANY($2::uuid[]) AND finished_at IS NOT NULL FOR UPDATE SKIP LOCKED`,
        [workspaceId, jobIds],
      );
      const ids = rows.map(({ id }) => id);
      if (ids.length === 0) return 0;
      await client.query(keepTextSql, [workspaceId, ids]);
      await client.query('DELETE FROM job WHERE workspace_id = $1 AND id = ANY($2::uuid[])', [workspaceId, ids]);
      return ids.length;
    });
  }

  /** The next workspaces of the walk. */
  async workspacesAfter(cursor: WorkspaceCursor, limit: number): Promise<string[]> {
    const { rows } = await this.postgres.engine.query<{ id: string }>(
      'SELECT id FROM workspace WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2',
      [cursor, limit],
    );
    return rows.map(({ id }) => id);
  }

  /** Removes keys that were cancelled before their start and never used within `retentionMs`. */
  deleteMarkers(workspaceId: string, retentionMs: number): Promise<number> {
    return this.postgres.withWorkspaceSql(workspaceId, async (client) => {
      const { rowCount } = await client.query(
        `DELETE FROM admission WHERE workspace_id = $1 AND job_id IS NULL
            AND created_at < clock_timestamp() - $2::bigint * interval '1 ms'`,
        [workspaceId, retentionMs],
      );
      return rowCount ?? 0;
    });
  }
}
