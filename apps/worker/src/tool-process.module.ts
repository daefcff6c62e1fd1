import { Module } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { IntegrationsModule } from '#integrations';
import { ToolQueueModule, ToolsModule } from '#tools';

import { ToolProcessLifecycle } from './tool-process.lifecycle.js';

/** Runs calls of isolated tools and no jobs. The importing module provides the platform, which may be that of a tool process. */
@Module({
  imports: [ApprovalsModule, IntegrationsModule, ToolsModule, ToolQueueModule],
  providers: [ToolProcessLifecycle],
  exports: [ToolProcessLifecycle],
})
export class ToolProcessModule {}
