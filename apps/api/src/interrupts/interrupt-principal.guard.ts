import { Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';

import { Authenticator } from '#auth';
import { requestNotFound, RowWorkspacesRepository } from '#jobs';
import { RowPrincipalGuard } from '#jobs/api';

/** For routes of one request. */
@Injectable()
export class InterruptPrincipalGuard extends RowPrincipalGuard {
  constructor(authenticator: Authenticator, reflector: Reflector, workspaces: RowWorkspacesRepository) {
    super(authenticator, reflector, { kind: 'interrupt', workspaces, absent: requestNotFound });
  }
}
