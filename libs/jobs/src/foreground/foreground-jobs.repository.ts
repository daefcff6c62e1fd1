import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

import type { JobRef } from '../job.js';
import { unwatched } from '../presence/presence.repository.js';

/** Reads the jobs that run only while a client follows them. */
@Injectable()
export class ForegroundJobsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Up to `limit` unfinished jobs without a viewer in any process, oldest first. */
  findUnwatched(limit: number): Promise<JobRef[]> {
    return this.prisma.asWorker(
      (client) => client.$queryRaw<JobRef[]>`
        SELECT j.workspace_id AS "workspaceId", j.id AS "jobId" FROM job j
         WHERE j.foreground AND j.status IN ('queued', 'running', 'waiting') AND j.cancel_requested_at IS NULL
           AND ${Prisma.raw(unwatched('j.workspace_id', ['j.id']))}
         ORDER BY j.id LIMIT ${limit}`,
    );
  }
}
