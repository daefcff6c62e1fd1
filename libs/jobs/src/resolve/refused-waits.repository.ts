import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

import { personKinds } from '../interrupt.js';
import type { JobRef } from '../job.js';

/** Why a job was cancelled that had to wait for a person, and was not to. */
export const humanWait = 'human_wait';

/** A worker of an older build opens requests without the mark that they are refused; the input of the job has it. */
const isRefused = ({
  workspaceId,
  jobId,
}: JobRef) => Prisma.sql`(i.refused OR i.kind IN (${Prisma.join([...personKinds])})
  AND EXISTS (SELECT 1 FROM job j
    WHERE j.workspace_id = ${workspaceId}::uuid AND j.id = ${jobId}::uuid AND j.input->>'humanWait' = 'reject'))`;

/** Requests to people whose job does not wait for any. */
@Injectable()
export class RefusedWaitsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Jobs of any workspace that are to be cancelled for what they, or jobs below, have asked: the root job, whose client made the choice. */
  due(limit: number, without: readonly string[]): Promise<JobRef[]> {
    return this.prisma.asEngine(
      (client) => client.$queryRaw<JobRef[]>`SELECT DISTINCT j.workspace_id AS "workspaceId", j.id AS "jobId"
        FROM interrupt i JOIN job j ON j.workspace_id = i.workspace_id AND j.id = coalesce(i.root_job_id, i.job_id)
       WHERE i.status = 'open' AND i.refused AND j.finished_at IS NULL AND j.cancel_requested_at IS NULL
         AND j.id NOT IN (SELECT unnest(${[...without]}::uuid[])) LIMIT ${limit}`,
    );
  }

  /** Whether this job, or one below, has asked a person whom it is not to wait for, also after it was cancelled for that. */
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
