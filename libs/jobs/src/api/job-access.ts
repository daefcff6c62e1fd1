import { Injectable } from '@nestjs/common';

import { abilityOf, type Action, assertCan, type Principal, scopeOf } from '#auth';
import { isId } from '#platform';
import { missing } from '#platform/api';

import type { Job } from '../job.js';
import { jobNotFound } from '../jobs.errors.js';
import { JobsRepository } from '../jobs.repository.js';

/** Finds jobs for those who may read them; absent and forbidden look the same. */
@Injectable()
export class JobAccess {
  constructor(private readonly jobs: JobsRepository) {}

  /** Throws `bad_request` for no id at all, `not_found` for everything that is not the principal's to read. */
  async read(principal: Principal, jobId: string): Promise<Job> {
    const job = await this.find(principal, jobId);
    if (job === null) throw jobNotFound();
    return job;
  }

  /** Returns null instead of throwing `not_found`; throws `forbidden` when the caller may read the job but not do `action` to it. */
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
