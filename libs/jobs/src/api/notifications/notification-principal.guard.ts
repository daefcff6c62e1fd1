import { Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';

import { Authenticator } from '#auth';

import { notificationNotFound } from '../../notifications/notifications.errors.js';
import { RowWorkspacesRepository } from '../../row-workspaces.repository.js';
import { RowPrincipalGuard } from '../row-principal.guard.js';

/** For routes of one notification. */
@Injectable()
export class NotificationPrincipalGuard extends RowPrincipalGuard {
  constructor(authenticator: Authenticator, reflector: Reflector, workspaces: RowWorkspacesRepository) {
    super(authenticator, reflector, { kind: 'notification', workspaces, absent: notificationNotFound });
  }
}
