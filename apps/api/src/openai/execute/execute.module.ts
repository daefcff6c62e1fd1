import { Module } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { LimitsModule } from '#jobs/api';
import { ToolsModule } from '#tools';

import { StreamsModule } from '../../streams/streams.module.js';
import { SubJobInterrupts } from '../completions/sub-job-interrupts.js';
import { AgentTools } from './agent-tools.js';
import { ExecuteController } from './execute.controller.js';
import { ExecuteEndpoint } from './execute-endpoint.js';
import { ExecutionResult } from './execution-result.js';
import { ResponseDeadlines } from './response-deadlines.js';
import { ToolExecution } from './tool-execution.js';

/** `POST /v1/tools/execute`. */
@Module({
  imports: [ApprovalsModule, ChatModule, JobsModule, LimitsModule, StreamsModule, ToolsModule],
  controllers: [ExecuteController],
  providers: [AgentTools, ExecuteEndpoint, ExecutionResult, ResponseDeadlines, SubJobInterrupts, ToolExecution],
})
export class ExecuteModule {}
