import { Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';

import { Authenticator, type Principal, scopeOf, WorkspacesService } from '#auth';
import { InterruptsRepository, requestNotFound } from '#jobs';
import type { AppError } from '#platform';

import { RowPrincipalGuard } from '../auth/row-principal.guard.js';

/** For routes of one request. */
@Injectable()
export class InterruptPrincipalGuard extends RowPrincipalGuard {
  constructor(
    authenticator: Authenticator,
    reflector: Reflector,
    workspaces: WorkspacesService,
    private readonly interrupts: InterruptsRepository,
  ) {
    super(authenticator, reflector, workspaces);
  }

  protected absent(): AppError {
    return requestNotFound();
  }

  protected async holds(principal: Principal, id: string): Promise<boolean> {
    return (await this.interrupts.findInScope(scopeOf(principal), id)) !== null;
  }
}
