import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

import { personKinds } from '../interrupt.js';
import type { JobRef } from '../job.js';

/** The cancel reason of a job that would have had to wait for a person and must not. */
export const humanWait = 'human_wait';

/** A worker of an older build opens requests without the `refused` mark, so the input of the job is checked as well. */
const isRefused = ({
  workspaceId,
  jobId,
}: JobRef) => Prisma.sql`(i.refused OR i.kind IN (${Prisma.join([...personKinds])})
  AND EXISTS (SELECT 1 FROM job j
    WHERE j.workspace_id = ${workspaceId}::uuid AND j.id = ${jobId}::uuid AND j.input->>'humanWait' = 'reject'))`;

/** Finds requests to people whose job must not wait for a person. */
@Injectable()
export class RefusedWaitsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Root jobs of any workspace to cancel, because they or their descendants opened a refused request: their client chose `reject`. */
  due(limit: number, without: readonly string[]): Promise<JobRef[]> {
    return this.prisma.asWorker(
      (client) => client.$queryRaw<JobRef[]>`SELECT DISTINCT j.workspace_id AS "workspaceId", j.id AS "jobId"
        FROM interrupt i JOIN job j ON j.workspace_id = i.workspace_id AND j.id = coalesce(i.root_job_id, i.job_id)
       WHERE i.status = 'open' AND i.refused AND j.finished_at IS NULL AND j.cancel_requested_at IS NULL
         AND j.id NOT IN (SELECT unnest(${[...without]}::uuid[])) LIMIT ${limit}`,
    );
  }

  /** The root job of an open, refused request. Returns null if the request is not open or not refused. */
  async rootOf({ workspaceId, id }: { readonly workspaceId: string; readonly id: string }): Promise<JobRef | null> {
    const [row] = await this.prisma.queryInWorkspace<JobRef>(
      { workspaceId },
      Prisma.sql`SELECT workspace_id AS "workspaceId", coalesce(root_job_id, job_id) AS "jobId"
        FROM interrupt WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND status = 'open' AND refused`,
    );
    return row ?? null;
  }

  /** Whether this job or a descendant has opened a refused request. Stays true after the job was cancelled for it. */
  async isDue(job: JobRef): Promise<boolean> {
    const { workspaceId, jobId } = job;
    const refused = Prisma.sql`i.workspace_id = ${workspaceId}::uuid AND i.status = 'open' AND ${isRefused(job)}`;
    const [row] = await this.prisma.queryInWorkspace<{ found: boolean }>(
      job,
      Prisma.sql`SELECT EXISTS (SELECT 1 FROM interrupt i WHERE i.job_id = ${jobId}::uuid AND ${refused})
        OR EXISTS (SELECT 1 FROM interrupt i WHERE i.root_job_id = ${jobId}::uuid AND ${refused})
        OR EXISTS (SELECT 1 FROM job j
             WHERE j.workspace_id = ${workspaceId}::uuid AND j.id = ${jobId}::uuid AND j.reason = ${humanWait}) AS found`,
    );
    return row?.found ?? false;
  }
}
