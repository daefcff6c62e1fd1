import { Module } from '@nestjs/common';

import { JobsModule } from '#jobs';

import { CallExecution } from './tool-queue/call-execution.js';
import { CallRunner } from './tool-queue/call-runner.js';
import { DeadLetters } from './tool-queue/dead-letters.js';
import { DeadToolCallsService } from './tool-queue/dead-tool-calls.service.js';
import { ExecClaimsRepository } from './tool-queue/exec-claims.repository.js';
import { LateResponses } from './tool-queue/late-responses.js';
import { QueueSettler } from './tool-queue/queue-settler.js';
import { QueueStateRepository } from './tool-queue/queue-state.repository.js';
import { QueuedCallsRepository } from './tool-queue/queued-calls.repository.js';
import { ResultApplier } from './tool-queue/result-applier.js';
import { ToolQueueTelemetry } from './tool-queue/tool-queue.telemetry.js';
import { ToolQueueCancels } from './tool-queue/tool-queue-cancels.js';
import { ToolQueueSweeper } from './tool-queue/tool-queue-sweeper.js';
import { ToolResults } from './tool-queue/tool-results.js';
import { ToolWorker } from './tool-queue/tool-worker.js';
import { ToolsModule } from './tools.module.js';

const both = [DeadLetters, QueuedCallsRepository, QueueSettler, QueueStateRepository, ToolQueueTelemetry];
const toolSide = [CallExecution, CallRunner, ExecClaimsRepository, ToolWorker];
const jobSide = [DeadToolCallsService, LateResponses, ResultApplier, ToolQueueCancels, ToolQueueSweeper, ToolResults];
const shared = [...both, ...toolSide, ...jobSide];

/** The isolated tool queue: the side that runs calls, and the side that takes their results. Nothing starts by itself. */
@Module({ imports: [JobsModule, ToolsModule], providers: shared, exports: shared })
export class ToolQueueModule {}
