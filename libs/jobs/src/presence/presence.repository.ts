import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

/** A row counts for this long after its last refresh, so that the viewers of a dead process stop counting. */
export const staleMs = 45_000;

export interface WatchedJob {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** SQL condition: the job has no viewer. For a sub-job, pass its root job as well. */
export function unwatched(workspaceId: string, jobIds: readonly string[]): string {
  return `NOT EXISTS (SELECT 1 FROM job_viewer v WHERE v.workspace_id = ${workspaceId} AND v.job_id IN (${jobIds.join(', ')})
     AND v.seen_at > clock_timestamp() - interval '${staleMs} ms')`;
}

const jobsOf = (watched: readonly WatchedJob[]) =>
  Prisma.sql`json_to_recordset(${JSON.stringify(watched)}::json) AS w("workspaceId" uuid, "jobId" uuid)`;

/** Stores which jobs have viewers, and in which process. */
@Injectable()
export class PresenceRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Stores and deletes rows in one statement. No job may be in both lists. */
  async store(process: string, watched: readonly WatchedJob[], left: readonly WatchedJob[]): Promise<void> {
    await this.prisma.asWorker(
      (client) => client.$executeRaw`
        WITH gone AS (
          DELETE FROM job_viewer v USING ${jobsOf(left)}
           WHERE v.workspace_id = w."workspaceId" AND v.job_id = w."jobId" AND v.process = ${process}::uuid)
        INSERT INTO job_viewer (workspace_id, job_id, process, seen_at)
        SELECT w."workspaceId", w."jobId", ${process}::uuid, clock_timestamp() FROM ${jobsOf(watched)}
        ON CONFLICT (workspace_id, job_id, process) DO UPDATE SET seen_at = excluded.seen_at`,
    );
  }

  /** Deletes up to `limit` stale rows and returns how many. A process that is refreshing its rows does not wait. */
  forgetStale(limit: number): Promise<number> {
    return this.prisma.asWorker(
      (client) => client.$executeRaw`
        DELETE FROM job_viewer WHERE (workspace_id, job_id, process) IN (
          SELECT workspace_id, job_id, process FROM job_viewer
           WHERE seen_at < clock_timestamp() - ${staleMs}::int * interval '1 ms'
           LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
    );
  }
}
