import { Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';

import { Authenticator, type MemberPrincipal, scopeOf, WorkspacesService } from '#auth';
import { JobsRepository } from '#jobs';
import { AppError, isId } from '#platform';

import { credentialsOf } from '../auth/credentials-of.js';
import { PrincipalGuard } from '../auth/principal.guard.js';

/**
 * For routes of one job: a user of several workspaces enters the job's own, whichever is the active one. Nobody enters a
 * workspace without being its member, so a foreign job stays as absent as before. API keys have but one workspace.
 */
@Injectable()
export class JobPrincipalGuard extends PrincipalGuard {
  constructor(
    authenticator: Authenticator,
    reflector: Reflector,
    private readonly workspaces: WorkspacesService,
    private readonly jobs: JobsRepository,
  ) {
    super(authenticator, reflector);
  }

  protected override async enter(request: Request): Promise<MemberPrincipal> {
    const jobId = request.params['id'];
    const active = await this.enterActive(request);
    if (active?.kind === 'key' || typeof jobId !== 'string' || !isId(jobId)) return active ?? super.enter(request);
    if (active !== null && (await this.holds(active, jobId))) return active;
    return (await this.enterWorkspaceOf(jobId, request)) ?? active ?? super.enter(request);
  }

  /** Null: the user of this token would have to say which workspace. */
  private async enterActive(request: Request): Promise<MemberPrincipal | null> {
    try {
      return await super.enter(request);
    } catch (error) {
      if (error instanceof AppError && error.code === 'bad_request') return null;
      throw error;
    }
  }

  private async enterWorkspaceOf(jobId: string, request: Request): Promise<MemberPrincipal | null> {
    const { authorization } = credentialsOf(request.headers);
    const { memberships } = await this.workspaces.me(await this.authenticator.identify({ authorization }));
    if (memberships.length < 2) return null;
    for (const { workspaceId } of memberships) {
      const principal = await this.authenticator.authenticate({ authorization, workspaceId });
      if (await this.holds(principal, jobId)) return principal;
    }
    return null;
  }

  private async holds(principal: MemberPrincipal, jobId: string): Promise<boolean> {
    return (await this.jobs.findInScope(scopeOf(principal), jobId)) !== null;
  }
}
