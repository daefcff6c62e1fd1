import { Module } from '@nestjs/common';

import { ToolQueueModule } from '#tools';

import { ToolQueueController } from './tool-queue.controller.js';

/** The queue of isolated tools over REST. */
@Module({ imports: [ToolQueueModule], controllers: [ToolQueueController] })
export class ToolQueueApiModule {}
