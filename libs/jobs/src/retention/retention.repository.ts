import { Injectable } from '@nestjs/common';

import { PrismaService } from '#platform';

import { deltaTypes } from '../events/job-event.js';
import type { JobRef } from '../job.js';

/** The position in the list of workspaces: the last one visited; null: the beginning. */
export type WorkspaceCursor = string | null;

/** Rows past their retention. Candidates are found as the workers' role; deletions run inside their workspace. */
@Injectable()
export class RetentionRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Removes the deltas of up to `limit` jobs that ended more than `retentionMs` (or their workspace's own) ago. */
  async trimDeltas(retentionMs: number, limit: number): Promise<number> {
    const types = [...deltaTypes];
    const [row] = await this.prisma.asWorker(
      (client) => client.$queryRaw<{ jobs: number }[]>`WITH old AS (
  SELECT j.workspace_id, j.id FROM job j JOIN workspace w ON w.id = j.workspace_id
   WHERE j.finished_at IS NOT NULL AND NOT j.deltas_trimmed
     AND j.finished_at < clock_timestamp() - coalesce(w.delta_retention_ms, ${retentionMs}::bigint) * interval '1 ms'
   ORDER BY j.finished_at LIMIT ${limit} FOR NO KEY UPDATE OF j SKIP LOCKED),
marked AS (
  UPDATE job j SET deltas_trimmed = true FROM old WHERE j.workspace_id = old.workspace_id AND j.id = old.id
  RETURNING j.workspace_id, j.id),
gone AS (
  DELETE FROM job_event e USING marked m WHERE e.workspace_id = m.workspace_id AND e.job_id = m.id AND e.type = ANY(${types}::text[]))
SELECT count(*)::int AS jobs FROM marked`,
    );
    return row?.jobs ?? 0;
  }

  /**
   * Up to `limit` jobs that ended more than `retentionMs` (or their workspace's own value) ago; 0 keeps jobs for ever. An id contains the
   * instant of its creation, and a job ends later. So a bound on the id limits the search to the oldest end of the index, for any number of
   * kept jobs. A job whose idempotency key is younger than a day stays, because a repeated start must not create another job.
   * `without`: ids of jobs that could not be deleted.
   */
  findExpired(retentionMs: number, limit: number, without: readonly string[]): Promise<JobRef[]> {
    return this.prisma.asWorker(
      (client) => client.$queryRaw<JobRef[]>`SELECT w.id AS "workspaceId", old.id AS "jobId" FROM workspace w
 CROSS JOIN LATERAL (SELECT clock_timestamp() - coalesce(w.job_retention_ms, ${retentionMs}::bigint) * interval '1 ms' AS since) c
 CROSS JOIN LATERAL (SELECT lpad(to_hex((extract(epoch FROM c.since) * 1000)::bigint), 12, '0') AS hex) h
 CROSS JOIN unnest(ARRAY['completed', 'failed', 'cancelled']) AS s(status)
 CROSS JOIN LATERAL (
  SELECT j.id FROM job j WHERE j.workspace_id = w.id AND j.status = s.status AND j.finished_at < c.since
     AND j.id <= (substr(h.hex, 1, 8) || '-' || substr(h.hex, 9) || '-ffff-ffff-ffffffffffff')::uuid
     AND NOT EXISTS (SELECT 1 FROM admission a WHERE a.workspace_id = j.workspace_id AND a.job_id = j.id
                        AND a.created_at > clock_timestamp() - interval '1 day')
     AND j.id <> ALL(${[...without]}::uuid[])
   ORDER BY j.id LIMIT ${limit}) old
 WHERE coalesce(w.job_retention_ms, ${retentionMs}::bigint) > 0 LIMIT ${limit}`,
    );
  }

  /** Deletes finished jobs with all their rows, after it copied the text of their rounds to the messages of the thread. */
  deleteJobs(workspaceId: string, jobIds: readonly string[]): Promise<number> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const rows = await tx.$queryRaw<{ id: string }[]>`SELECT id FROM job WHERE workspace_id = ${workspaceId}::uuid
        AND id = ANY(${[...jobIds]}::uuid[]) AND finished_at IS NOT NULL FOR UPDATE SKIP LOCKED`;
      const ids = rows.map(({ id }) => id);
      if (ids.length === 0) return 0;
      await tx.$executeRaw`UPDATE message m SET job_id = NULL, content = to_jsonb(coalesce((
    SELECT string_agg(r.text, '' ORDER BY r.number) FROM round r WHERE r.workspace_id = m.workspace_id AND r.job_id = m.job_id
      AND r.node_run IS NULL), ''))
 WHERE m.workspace_id = ${workspaceId}::uuid AND m.job_id = ANY(${ids}::uuid[])`;
      await tx.job.deleteMany({ where: { workspaceId, id: { in: ids } } });
      return ids.length;
    });
  }

  /** The next workspaces after the cursor. */
  async workspacesAfter(cursor: WorkspaceCursor, limit: number): Promise<string[]> {
    const where = cursor === null ? {} : { id: { gt: cursor } };
    const rows = await this.prisma.asWorker((client) =>
      client.workspace.findMany({ where, orderBy: { id: 'asc' }, take: limit, select: { id: true } }),
    );
    return rows.map(({ id }) => id);
  }

  /** Deletes keys that were cancelled before their start and not used within `retentionMs`. */
  deleteMarkers(workspaceId: string, retentionMs: number): Promise<number> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const createdAt = { lt: new Date(Date.now() - retentionMs) };
      return (await tx.admission.deleteMany({ where: { workspaceId, jobId: null, createdAt } })).count;
    });
  }
}
