import { Module } from '@nestjs/common';

import { ViewersModule } from '#auth/api';
import { JobsApiModule } from '#jobs/api';

import { ToolsModule } from '../../tools.module.js';
import { JobToolCallsResolver, ToolCallSubJobResolver } from './job-tool-calls.resolver.js';
import { ToolCallExportController } from './tool-call-export.controller.js';
import { ToolCallExport } from './tool-call-export.js';
import { ToolCallErrorResolver, ToolCallFieldsResolver } from './tool-call-fields.resolver.js';
import { ToolCallLoaders } from './tool-call-loaders.js';
import { ToolCallConnectionResolver, ToolCallsResolver } from './tool-calls.resolver.js';

/** The REST and GraphQL APIs of the history of tool calls. */
@Module({
  imports: [JobsApiModule, ToolsModule, ViewersModule],
  controllers: [ToolCallExportController],
  providers: [
    ToolCallExport,
    ToolCallLoaders,
    JobToolCallsResolver,
    ToolCallConnectionResolver,
    ToolCallErrorResolver,
    ToolCallFieldsResolver,
    ToolCallSubJobResolver,
    ToolCallsResolver,
  ],
  exports: [ToolCallLoaders],
})
export class ToolCallsApiModule {}
