import { Module } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { ChatModule } from '#chat';
import { IntegrationsModule } from '#integrations';
import { JobsModule } from '#jobs';
import { SchedulesModule } from '#schedules';
import { ToolQueueModule, ToolsModule } from '#tools';
import { TriggersModule } from '#triggers';
import { WorkflowsModule } from '#workflows';

import { Maintenance } from './maintenance.js';
import { WorkerLifecycle } from './worker.lifecycle.js';

/** Runs calls of isolated tools, and jobs of every kind whose module is imported here. The importing module provides the platform. */
@Module({
  imports: [
    JobsModule,
    ApprovalsModule,
    IntegrationsModule,
    ToolsModule,
    ToolQueueModule,
    ChatModule,
    WorkflowsModule,
    SchedulesModule,
    TriggersModule,
  ],
  providers: [Maintenance, WorkerLifecycle],
  exports: [WorkerLifecycle],
})
export class WorkerModule {}
