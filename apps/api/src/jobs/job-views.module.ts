import { Module } from '@nestjs/common';

import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { JobsApiModule, LimitsModule } from '#jobs/api';
import { WorkflowsModule } from '#workflows';

import { StreamsModule } from '../streams/streams.module.js';
import { JobEventsResolver } from './job-events.resolver.js';
import { JobRead } from './job-read.js';
import { JobRetryResolver } from './job-retry.resolver.js';
import { JobStream } from './job-stream.js';
import { JobsController } from './jobs.controller.js';

/** The endpoints that span the kinds of jobs: status, events and retries. */
@Module({
  imports: [ChatModule, JobsApiModule, JobsModule, LimitsModule, StreamsModule, WorkflowsModule],
  controllers: [JobsController],
  providers: [JobRead, JobStream, JobEventsResolver, JobRetryResolver],
})
export class JobViewsModule {}
