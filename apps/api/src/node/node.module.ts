import { Module } from '@nestjs/common';

import { InterruptsApiModule } from '#approvals/api';
import { ChatApiModule } from '#chat/api';
import { JobsApiModule } from '#jobs/api';
import { ToolCallsApiModule } from '#tools/api';

import { NodeResolver } from './node.resolver.js';

/** Objects by their global id. */
@Module({
  imports: [ChatApiModule, InterruptsApiModule, JobsApiModule, ToolCallsApiModule],
  providers: [NodeResolver],
})
export class NodeModule {}
