import { Module } from '@nestjs/common';

import { WorkspaceSecretsRepository } from './workspace-secrets.repository.js';
import { WorkspaceSecrets } from './workspace-secrets.service.js';

/** The secrets of workspaces. Requires a global `PlatformModule`. */
@Module({ providers: [WorkspaceSecrets, WorkspaceSecretsRepository], exports: [WorkspaceSecrets] })
export class SecretsModule {}
