import { Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';

import { Authenticator } from '#auth';
import { jobNotFound, RowWorkspacesRepository } from '#jobs';
import { RowPrincipalGuard } from '#jobs/api';

/** For routes of one job. */
@Injectable()
export class JobPrincipalGuard extends RowPrincipalGuard {
  constructor(authenticator: Authenticator, reflector: Reflector, workspaces: RowWorkspacesRepository) {
    super(authenticator, reflector, { kind: 'job', workspaces, absent: jobNotFound });
  }
}
