import { Module } from '@nestjs/common';

import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { ToolQueueModule, ToolsModule } from '#tools';
import { WorkflowsModule } from '#workflows';

import { JobUpkeep } from './job-upkeep.js';
import { ToolUpkeep } from './tool-upkeep.js';
import { WorkerLifecycle } from './worker.lifecycle.js';

/** Runs jobs, every kind whose module is imported here, and calls of isolated tools. Expects the platform from above. */
@Module({
  imports: [JobsModule, ToolsModule, ToolQueueModule, ChatModule, WorkflowsModule],
  providers: [JobUpkeep, ToolUpkeep, WorkerLifecycle],
  exports: [WorkerLifecycle],
})
export class WorkerModule {}
