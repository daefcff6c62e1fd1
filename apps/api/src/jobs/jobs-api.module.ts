import { Module } from '@nestjs/common';

import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { LimitsModule } from '#jobs/api';
import { WorkflowsModule } from '#workflows';

import { StreamsModule } from '../streams/streams.module.js';
import { AdmissionController } from './admission.controller.js';
import { JobAbort } from './job-abort.js';
import { JobAccess } from './job-access.js';
import { JobQueueLifecycle } from './job-queue.lifecycle.js';
import { JobRead } from './job-read.js';
import { JobStart } from './job-start.js';
import { JobStream } from './job-stream.js';
import { JobsController } from './jobs.controller.js';
import { StartController } from './start.controller.js';

/** Jobs over REST and SSE. */
@Module({
  imports: [ChatModule, JobsModule, LimitsModule, StreamsModule, WorkflowsModule],
  controllers: [StartController, AdmissionController, JobsController],
  providers: [JobAbort, JobAccess, JobQueueLifecycle, JobRead, JobStart, JobStream],
  exports: [JobAccess],
})
export class JobsApiModule {}
