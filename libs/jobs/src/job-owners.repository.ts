import { Injectable } from '@nestjs/common';

import { isId, Prisma, PrismaService, systemClock, WorkspaceBatches } from '#platform';

/** The columns of a job that an ability compares. */
export interface JobOwner {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly createdBy: string | null;
}

/**
 * Finds the owner of a job, so that an endpoint can check the caller's ability. Viewers often connect together (a page with many live
 * jobs, a client that starts many), so one statement reads the jobs of a workspace that are requested in the same tick.
 */
@Injectable()
export class JobOwnersRepository {
  private readonly batches: WorkspaceBatches<string, JobOwner | null>;

  constructor(private readonly prisma: PrismaService) {
    this.batches = new WorkspaceBatches((workspaceId, ids) => this.findAll(workspaceId, ids), systemClock, {
      tickMs: 0,
      maxBatch: 500,
    });
  }

  /** Returns null if the workspace has no such job. Does not check rights. */
  find(workspaceId: string, jobId: string): Promise<JobOwner | null> {
    return isId(jobId) ? this.batches.submit(workspaceId, jobId.toLowerCase()) : Promise.resolve(null);
  }

  private async findAll(workspaceId: string, ids: readonly string[]): Promise<(JobOwner | null)[]> {
    const rows = await this.prisma.queryInWorkspace<{ id: string; createdBy: string | null }>(
      { workspaceId },
      Prisma.sql`SELECT id, created_by AS "createdBy" FROM job
        WHERE workspace_id = ${workspaceId}::uuid AND id = ANY(${[...ids]}::uuid[])`,
    );
    const owners = new Map(rows.map(({ id, createdBy }) => [id, { workspaceId, jobId: id, createdBy }]));
    return ids.map((id) => owners.get(id) ?? null);
  }
}
