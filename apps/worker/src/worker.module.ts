import { Module } from '@nestjs/common';

import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { ToolsModule } from '#tools';

import { WorkerLifecycle } from './worker.lifecycle.js';

/** Runs jobs: every kind whose module is imported here. Expects the platform from above. */
@Module({ imports: [JobsModule, ToolsModule, ChatModule], providers: [WorkerLifecycle], exports: [WorkerLifecycle] })
export class WorkerModule {}
