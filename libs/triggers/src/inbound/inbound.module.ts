import { Module, type OnModuleInit } from '@nestjs/common';

import { PrincipalsModule } from '#auth';
import { ChatModule } from '#chat';
import { IntegrationsModule } from '#integrations';
import { JobsModule, Retention } from '#jobs';
import { WorkflowsModule } from '#workflows';

import { OutboundModule } from '../outbound/outbound.module.js';
import { SyntrixModule } from '../syntrix/syntrix.module.js';
import { ChangesRepository } from './changes.repository.js';
import { Changes } from './changes.service.js';
import { FileWorkspacesRepository } from './file-workspaces.repository.js';
import { Hooks } from './hooks.service.js';
import { OwnDocumentsRepository } from './own-documents.repository.js';
import { OwnDocuments } from './own-documents.service.js';
import { OwnRowHints } from './own-row-hints.js';
import { TriggerFileLoader } from './trigger-file-loader.js';
import { TriggerRunsRepository } from './trigger-runs.repository.js';
import { TriggerStarts } from './trigger-starts.service.js';
import { TriggerWorker } from './trigger-worker.js';
import { TriggersRepository } from './triggers.repository.js';
import { TriggersService } from './triggers.service.js';

/** Triggers: conditions over changes, and the jobs that they start. Expects the platform and the auth. */
@Module({
  imports: [
    ChatModule,
    IntegrationsModule,
    JobsModule,
    OutboundModule,
    PrincipalsModule,
    SyntrixModule,
    WorkflowsModule,
  ],
  providers: [
    ...[Changes, ChangesRepository, FileWorkspacesRepository, Hooks],
    ...[OwnDocuments, OwnDocumentsRepository, OwnRowHints],
    ...[TriggerFileLoader, TriggerRunsRepository, TriggerStarts, TriggerWorker, TriggersRepository, TriggersService],
  ],
  exports: [Changes, Hooks, OwnDocuments, TriggerFileLoader, TriggerWorker, TriggersService],
})
export class InboundModule implements OnModuleInit {
  constructor(
    private readonly retention: Retention,
    private readonly changes: ChangesRepository,
    private readonly runs: TriggerRunsRepository,
  ) {}

  onModuleInit(): void {
    this.retention.register(this.changes);
    this.retention.register(this.runs);
  }
}
