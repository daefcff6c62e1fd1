import { Injectable } from '@nestjs/common';

import { abilityOf, type Action, assertCan, type Principal, scopeOf } from '#auth';
import { isId } from '#platform';
import { missing } from '#platform/api';

import type { Job } from '../job.js';
import { jobNotFound } from '../jobs.errors.js';
import { JobsRepository } from '../jobs.repository.js';

/** Finds jobs for callers who may read them. The error is the same for an absent job and for a forbidden one. */
@Injectable()
export class JobAccess {
  constructor(private readonly jobs: JobsRepository) {}

  /** Throws `bad_request` if the id is missing, `not_found` if the job is absent or the principal may not read it. */
  async read(principal: Principal, jobId: string): Promise<Job> {
    const job = await this.find(principal, jobId);
    if (job === null) throw jobNotFound();
    return job;
  }

  /** Like `read`, but returns null instead of throwing `not_found`. Throws `forbidden` if the caller may read the job but not do `action`. */
  async findToChange(principal: Principal, jobId: string, action: Action): Promise<Job | null> {
    const job = await this.find(principal, jobId);
    if (job === null) return null;
    const { workspaceId, createdBy } = job;
    assertCan(abilityOf(principal), { action, subject: 'Job', row: { workspaceId, createdBy } });
    return job;
  }

  private async find(principal: Principal, jobId: string): Promise<Job | null> {
    if (jobId.trim() === '') throw missing('job ID');
    return isId(jobId) ? this.jobs.findInScope(scopeOf(principal), jobId) : null;
  }
}
