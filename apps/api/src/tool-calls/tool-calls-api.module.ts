import { Module } from '@nestjs/common';

import { ToolsModule } from '#tools';

import { StreamsModule } from '../streams/streams.module.js';
import { ToolCallExportController } from './tool-call-export.controller.js';
import { ToolCallExport } from './tool-call-export.js';

/** The history of tool calls over REST. */
@Module({
  imports: [StreamsModule, ToolsModule],
  controllers: [ToolCallExportController],
  providers: [ToolCallExport],
})
export class ToolCallsApiModule {}
