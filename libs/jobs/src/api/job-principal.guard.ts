import { Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';

import { Authenticator } from '#auth';

import { jobNotFound } from '../jobs.errors.js';
import { RowWorkspacesRepository } from '../row-workspaces.repository.js';
import { RowPrincipalGuard } from './row-principal.guard.js';

/** Authenticates callers of routes that name one job. */
@Injectable()
export class JobPrincipalGuard extends RowPrincipalGuard {
  constructor(authenticator: Authenticator, reflector: Reflector, workspaces: RowWorkspacesRepository) {
    super(authenticator, reflector, { kind: 'job', workspaces, absent: jobNotFound });
  }
}
