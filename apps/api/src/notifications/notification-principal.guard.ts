import { Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';

import { Authenticator, type Principal, scopeOf, WorkspacesService } from '#auth';
import { notificationNotFound, NotificationsRepository } from '#jobs';
import type { AppError } from '#platform';

import { RowPrincipalGuard } from '../auth/row-principal.guard.js';

/** For routes of one notification. */
@Injectable()
export class NotificationPrincipalGuard extends RowPrincipalGuard {
  constructor(
    authenticator: Authenticator,
    reflector: Reflector,
    workspaces: WorkspacesService,
    private readonly notifications: NotificationsRepository,
  ) {
    super(authenticator, reflector, workspaces);
  }

  protected absent(): AppError {
    return notificationNotFound();
  }

  protected async holds(principal: Principal, id: string): Promise<boolean> {
    return (await this.notifications.findMine(scopeOf(principal), {}, [id])).length > 0;
  }
}
