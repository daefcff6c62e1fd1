import { Module } from '@nestjs/common';

import { ToolQueueModule } from '../../tool-queue.module.js';
import { ToolQueueController } from './tool-queue.controller.js';
import { ToolQueueResolver } from './tool-queue.resolver.js';

/** The queue of isolated tools, over REST and GraphQL. */
@Module({
  imports: [ToolQueueModule],
  controllers: [ToolQueueController],
  providers: [ToolQueueResolver],
})
export class ToolQueueApiModule {}
