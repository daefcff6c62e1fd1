import { Module } from '@nestjs/common';

import { ToolRegistryModule } from '#tools';

import { SecretsModule } from '../secrets/secrets.module.js';
import { HttpToolExecutor } from './http-tool.executor.js';
import { HttpToolSource } from './http-tool.source.js';
import { HttpToolTrials } from './http-tool-trial.service.js';
import { OutboundHostsRepository } from './outbound-hosts.repository.js';
import { OutboundHosts } from './outbound-hosts.service.js';
import { WorkspaceToolsRepository } from './workspace-tools.repository.js';
import { WorkspaceToolsService } from './workspace-tools.service.js';

/** HTTP tools as a source of tools. Expects the platform. */
@Module({
  imports: [SecretsModule, ToolRegistryModule],
  providers: [
    HttpToolExecutor,
    HttpToolSource,
    HttpToolTrials,
    OutboundHosts,
    OutboundHostsRepository,
    WorkspaceToolsRepository,
    WorkspaceToolsService,
  ],
  exports: [HttpToolTrials, OutboundHosts, OutboundHostsRepository, SecretsModule, WorkspaceToolsService],
})
export class HttpToolsModule {}
