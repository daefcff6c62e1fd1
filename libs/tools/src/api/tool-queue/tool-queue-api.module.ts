import { Module } from '@nestjs/common';

import { ToolQueueModule } from '../../tool-queue.module.js';
import { ToolsModule } from '../../tools.module.js';
import { ToolQueueController } from './tool-queue.controller.js';
import { ToolQueueResolver } from './tool-queue.resolver.js';
import { WorkspaceIsolationResolver } from './workspace-isolation.resolver.js';

/** The REST and GraphQL APIs of the tool queue. */
@Module({
  imports: [ToolQueueModule, ToolsModule],
  controllers: [ToolQueueController],
  providers: [ToolQueueResolver, WorkspaceIsolationResolver],
})
export class ToolQueueApiModule {}
