import type { Reflector } from '@nestjs/core';
import type { Request } from 'express';

import type { Authenticator, MemberPrincipal } from '#auth';
import { credentialsOf, PrincipalGuard, type RefusedCall } from '#auth/api';
import { AppError, isId } from '#platform';

import type { RowKind, RowWorkspacesRepository } from '../row-workspaces.repository.js';

/** The kind of rows that a guard protects. */
export interface GuardedRows {
  readonly kind: RowKind;
  readonly workspaces: RowWorkspacesRepository;
  /** The error for a row that is absent, or that the caller may not see. */
  readonly absent: () => AppError;
}

/**
 * For routes that name one row by `:id`. A user of several workspaces is authenticated in the workspace of the row; one query finds it for
 * any number of workspaces. Only the user's own workspaces are searched, so rows of other workspaces are reported as absent. A caller without
 * a membership, or not a member of the workspace that the request names, gets the same response for every row. An API key has one workspace.
 */
export abstract class RowPrincipalGuard extends PrincipalGuard {
  constructor(
    authenticator: Authenticator,
    reflector: Reflector,
    private readonly rows: GuardedRows,
  ) {
    super(authenticator, reflector);
  }

  protected override async enter(request: Request): Promise<MemberPrincipal> {
    try {
      return await this.enterRow(request);
    } catch (error) {
      const isNotMember = error instanceof AppError && error.code === 'not_found';
      throw isNotMember && request.params['id'] !== undefined ? this.rows.absent() : error;
    }
  }

  /**
   * To a caller who may read rows of this kind, an absent row is absent and not forbidden. The handler reports it, in the form of its
   * contract. Only a refused call costs this query.
   */
  protected override async refuse(call: RefusedCall): Promise<void> {
    const { request, principal, refusal } = call;
    const id = request.params['id'];
    if (typeof id !== 'string') return super.refuse(call);
    if (refusal.code === 'not_found') throw this.rows.absent();
    if ((await this.rows.workspaces.find(this.rows.kind, id, [principal.workspaceId])) !== null) throw refusal;
  }

  private async enterRow(request: Request): Promise<MemberPrincipal> {
    const id = request.params['id'];
    const active = await this.enterActive(request);
    if (active?.kind === 'key' || typeof id !== 'string' || !isId(id)) return active ?? super.enter(request);
    const { authorization } = credentialsOf(request.headers);
    const workspaceIds = await this.authenticator.workspaceIdsOf({ authorization });
    if (workspaceIds.length < 2) return active ?? super.enter(request);
    const workspaceId = await this.rows.workspaces.find(this.rows.kind, id, workspaceIds);
    if (workspaceId === null) throw this.rows.absent();
    if (workspaceId === active?.workspaceId) return active;
    return this.authenticator.authenticate({ authorization, workspaceId });
  }

  /** Returns null if the token's user is a member of several workspaces and the request names none. */
  private async enterActive(request: Request): Promise<MemberPrincipal | null> {
    try {
      return await super.enter(request);
    } catch (error) {
      if (error instanceof AppError && error.code === 'bad_request') return null;
      throw error;
    }
  }
}
