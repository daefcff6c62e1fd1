import { Injectable } from '@nestjs/common';

import { Prisma, type PrismaTransaction } from '#platform';

import { interruptDue } from '../interrupts/new-interrupt.repository.js';
import { JobQueue } from '../queue/job-queue.js';

/**
 * Expires the runs of a user that have been paused longest, and returns their requests. A paused run waits only for results of calls that its
 * `/v1` response handed to the client: not for a person, a sub-job, an isolated call, or a client that has claimed a call. Skips runs that
 * have expired, and jobs that another transaction has locked: their client may be continuing them.
 */
const expiryOf = (workspaceId: string, { user, count }: { user: string; count: number }) => Prisma.sql`
WITH paused AS (
  SELECT j.id FROM job j, LATERAL (
    SELECT min(i.created_at) AS since,
           bool_and(i.kind = 'client_tool' AND i.request->'handedOver' = 'true'::jsonb AND i.claim_until IS NULL
                    AND i.expires_at > clock_timestamp()) AS for_client
      FROM interrupt i WHERE i.workspace_id = j.workspace_id AND i.job_id = j.id AND i.status = 'open') AS open
   WHERE j.workspace_id = ${workspaceId}::uuid AND j.created_by = ${user}::uuid AND j.status = 'waiting' AND j.cancel_requested_at IS NULL AND open.for_client
     AND NOT EXISTS (SELECT 1 FROM tool_call c WHERE c.workspace_id = j.workspace_id AND c.job_id = j.id AND c.status = 'running')
   ORDER BY open.since, j.id LIMIT ${count} FOR NO KEY UPDATE OF j SKIP LOCKED),
ended AS (
  UPDATE interrupt SET expires_at = clock_timestamp() - interval '1 ms'
   WHERE workspace_id = ${workspaceId}::uuid AND job_id IN (SELECT id FROM paused) AND status = 'open' RETURNING job_id, id)
SELECT job_id AS "jobId", id FROM ended`;

/** Runs that wait for the results of their `/v1` client's own tools. */
@Injectable()
export class PausedRunsRepository {
  constructor(private readonly queue: JobQueue) {}

  /**
   * Expires up to `wanted` runs of each user, in the transaction of the start that replaces them, which also sends the messages of their
   * requests. Workers end them within about a second, like any expired run. Returns how many runs of each user expire.
   */
  async expireOldest(
    tx: PrismaTransaction,
    workspaceId: string,
    wanted: ReadonlyMap<string, number>,
  ): Promise<ReadonlyMap<string, number>> {
    const expiring = new Map<string, number>();
    for (const [user, count] of wanted) {
      const rows = await tx.$queryRaw<{ jobId: string; id: string }[]>(expiryOf(workspaceId, { user, count }));
      if (rows.length === 0) continue;
      expiring.set(user, new Set(rows.map(({ jobId }) => jobId)).size);
      await this.queue.sendAll(
        tx,
        rows.map((row) => interruptDue({ workspaceId, ...row }, 0)),
      );
    }
    return expiring;
  }
}
