import { Injectable } from '@nestjs/common';

import { isId, Prisma, PrismaService, systemClock, TimedCache, WorkspaceBatches } from '#platform';

/** The owner of a job never changes. The limit bounds how long a deleted job is still found. */
const freshMs = 10_000;

/** The columns of a job that an ability compares. */
export interface JobOwner {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly createdBy: string | null;
}

/**
 * Finds the owner of a job, so that an endpoint can check the caller's ability. Viewers often connect together (a page with many live
 * jobs, a client that starts many), so one statement reads the jobs of a workspace that are requested in the same tick. A client often follows
 * a job that it has just started, so the owners of jobs that this process started are known without a read.
 */
@Injectable()
export class JobOwnersRepository {
  private readonly batches: WorkspaceBatches<string, JobOwner | null>;
  private readonly known = new TimedCache<JobOwner | null>({ clock: systemClock, ttlMs: freshMs, max: 10_000 });

  constructor(private readonly prisma: PrismaService) {
    this.batches = new WorkspaceBatches((workspaceId, ids) => this.findAll(workspaceId, ids), systemClock, {
      tickMs: 0,
      maxBatch: 500,
    });
  }

  /** Returns null if the workspace has no such job. Does not check rights. */
  async find(workspaceId: string, jobId: string): Promise<JobOwner | null> {
    if (!isId(jobId)) return null;
    const id = jobId.toLowerCase();
    const owner = await this.known.get(keyOf(workspaceId, id), () => this.batches.submit(workspaceId, id));
    if (owner === null) this.known.forget(keyOf(workspaceId, id)); // the job may be started a moment later
    return owner;
  }

  /** Call it after the commit that inserted the job. */
  remember({ workspaceId, jobId, createdBy }: JobOwner): void {
    const key = keyOf(workspaceId, jobId);
    this.known.forget(key); // a read that began before the commit
    void this.known.get(key, () => Promise.resolve({ workspaceId, jobId, createdBy }));
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

function keyOf(workspaceId: string, jobId: string): string {
  return `${workspaceId}/${jobId}`;
}
