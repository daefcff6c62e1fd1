import { Module } from '@nestjs/common';

import { JobsModule } from '#jobs';

import { ToolsModule } from '../tools.module.js';
import { CallExecution } from './call-execution.js';
import { CallRunner } from './call-runner.js';
import { DeadLetters } from './dead-letters.js';
import { DeadToolCallsRepository } from './dead-tool-calls.repository.js';
import { DeadToolCallsService } from './dead-tool-calls.service.js';
import { DueCallsRepository } from './due-calls.repository.js';
import { ExecClaimsRepository } from './exec-claims.repository.js';
import { LateResponses } from './late-responses.js';
import { QueueSettler } from './queue-settler.js';
import { QueueStateRepository } from './queue-state.repository.js';
import { QueuedCallsService } from './queued-calls.service.js';
import { ResultApplier } from './result-applier.js';
import { ToolMessagesRepository } from './tool-messages.repository.js';
import { ToolOutbox } from './tool-outbox.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';
import { ToolQueueCancels } from './tool-queue-cancels.js';
import { ToolQueueSweeper } from './tool-queue-sweeper.js';
import { ToolResults } from './tool-results.js';
import { ToolWorker } from './tool-worker.js';

const both = [DeadLetters, QueueSettler, QueueStateRepository, ToolMessagesRepository, ToolQueueTelemetry];
const toolSide = [CallExecution, CallRunner, ExecClaimsRepository, ToolOutbox, ToolWorker];
const jobSide = [DueCallsRepository, LateResponses, ResultApplier, ToolQueueCancels, ToolQueueSweeper, ToolResults];
const forPeople = [DeadToolCallsRepository, DeadToolCallsService, QueuedCallsService];
const shared = [...both, ...toolSide, ...jobSide, ...forPeople];

/** The isolated tool queue: the side that runs calls, and the side that takes their results. Nothing starts by itself. */
@Module({ imports: [JobsModule, ToolsModule], providers: shared, exports: shared })
export class ToolQueueModule {}
