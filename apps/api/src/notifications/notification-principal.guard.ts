import { Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';

import { Authenticator } from '#auth';
import { notificationNotFound, RowWorkspacesRepository } from '#jobs';
import { RowPrincipalGuard } from '#jobs/api';

/** For routes of one notification. */
@Injectable()
export class NotificationPrincipalGuard extends RowPrincipalGuard {
  constructor(authenticator: Authenticator, reflector: Reflector, workspaces: RowWorkspacesRepository) {
    super(authenticator, reflector, { kind: 'notification', workspaces, absent: notificationNotFound });
  }
}
