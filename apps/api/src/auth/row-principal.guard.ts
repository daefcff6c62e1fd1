import type { Reflector } from '@nestjs/core';
import type { Request } from 'express';

import type { Authenticator, MemberPrincipal, Principal, WorkspacesService } from '#auth';
import { AppError, isId } from '#platform';

import { credentialsOf } from './credentials-of.js';
import { PrincipalGuard } from './principal.guard.js';

/**
 * For routes of one row, named by `:id`: a user of several workspaces enters the row's own, whichever is the active one. Nobody
 * enters a workspace without being its member, so a foreign row stays as absent as before; somebody who is no member of any
 * workspace, or not of the one they name, reads the same of every row. API keys have but one workspace.
 */
export abstract class RowPrincipalGuard extends PrincipalGuard {
  constructor(
    authenticator: Authenticator,
    reflector: Reflector,
    private readonly workspaces: WorkspacesService,
  ) {
    super(authenticator, reflector);
  }

  /** Whether the principal can see a row of this id, in its workspace. */
  protected abstract holds(principal: Principal, id: string): Promise<boolean>;

  /** What everybody reads of a row that is not theirs, or nobody's. */
  protected abstract absent(): AppError;

  protected override async enter(request: Request): Promise<MemberPrincipal> {
    try {
      return await this.enterRow(request);
    } catch (error) {
      const isNoMember = error instanceof AppError && error.code === 'not_found';
      throw isNoMember && request.params['id'] !== undefined ? this.absent() : error;
    }
  }

  private async enterRow(request: Request): Promise<MemberPrincipal> {
    const id = request.params['id'];
    const active = await this.enterActive(request);
    if (active?.kind === 'key' || typeof id !== 'string' || !isId(id)) return active ?? super.enter(request);
    if (active !== null && (await this.holds(active, id))) return active;
    return (await this.enterWorkspaceOf(id, request)) ?? active ?? super.enter(request);
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

  private async enterWorkspaceOf(id: string, request: Request): Promise<MemberPrincipal | null> {
    const { authorization } = credentialsOf(request.headers);
    const { memberships } = await this.workspaces.me(await this.authenticator.identify({ authorization }));
    if (memberships.length < 2) return null;
    for (const { workspaceId } of memberships) {
      const principal = await this.authenticator.authenticate({ authorization, workspaceId });
      if (await this.holds(principal, id)) return principal;
    }
    return null;
  }
}
