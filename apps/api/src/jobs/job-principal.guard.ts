import { Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';

import { Authenticator, type Principal, scopeOf, WorkspacesService } from '#auth';
import { jobNotFound, JobsRepository } from '#jobs';
import type { AppError } from '#platform';

import { RowPrincipalGuard } from '../auth/row-principal.guard.js';

/** For routes of one job. */
@Injectable()
export class JobPrincipalGuard extends RowPrincipalGuard {
  constructor(
    authenticator: Authenticator,
    reflector: Reflector,
    workspaces: WorkspacesService,
    private readonly jobs: JobsRepository,
  ) {
    super(authenticator, reflector, workspaces);
  }

  protected absent(): AppError {
    return jobNotFound();
  }

  protected async holds(principal: Principal, jobId: string): Promise<boolean> {
    return (await this.jobs.findInScope(scopeOf(principal), jobId)) !== null;
  }
}
