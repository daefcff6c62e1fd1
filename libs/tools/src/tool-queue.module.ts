import { Module } from '@nestjs/common';

import { JobsModule } from '#jobs';

import { CallExecution } from './remote/call-execution.js';
import { CallRunner } from './remote/call-runner.js';
import { DeadLetters } from './remote/dead-letters.js';
import { DeadToolCallsService } from './remote/dead-tool-calls.service.js';
import { ExecClaimsRepository } from './remote/exec-claims.repository.js';
import { LateResponses } from './remote/late-responses.js';
import { QueueSettler } from './remote/queue-settler.js';
import { QueueStateRepository } from './remote/queue-state.repository.js';
import { QueuedCallsRepository } from './remote/queued-calls.repository.js';
import { ResultApplier } from './remote/result-applier.js';
import { SentFiles } from './remote/sent-files.js';
import { ToolQueueTelemetry } from './remote/tool-queue.telemetry.js';
import { ToolQueueCancels } from './remote/tool-queue-cancels.js';
import { ToolQueueSweeper } from './remote/tool-queue-sweeper.js';
import { ToolResults } from './remote/tool-results.js';
import { ToolWorker } from './remote/tool-worker.js';
import { ToolsModule } from './tools.module.js';

const both = [DeadLetters, QueuedCallsRepository, QueueSettler, QueueStateRepository, ToolQueueTelemetry];
const toolSide = [CallExecution, CallRunner, ExecClaimsRepository, ToolWorker];
const jobSide = [
  DeadToolCallsService,
  LateResponses,
  ResultApplier,
  SentFiles,
  ToolQueueCancels,
  ToolQueueSweeper,
  ToolResults,
];
const shared = [...both, ...toolSide, ...jobSide];

/** The tool queue: the part that runs calls, and the part that applies their results. The caller starts both. */
@Module({ imports: [JobsModule, ToolsModule], providers: shared, exports: shared })
export class ToolQueueModule {}
