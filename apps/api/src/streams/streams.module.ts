import { Module } from '@nestjs/common';

import { ViewersModule } from '#auth/api';
import { JobsModule } from '#jobs';
import { WorkflowsModule } from '#workflows';

import { JobFeeds } from './job-feeds.js';
import { JobStreams } from './job-streams.js';
import { SlowViewers } from './slow-viewers.js';

/** The services that all live streams share, over SSE and GraphQL. */
@Module({
  imports: [JobsModule, ViewersModule, WorkflowsModule],
  providers: [JobFeeds, JobStreams, SlowViewers],
  exports: [JobStreams, SlowViewers, ViewersModule],
})
export class StreamsModule {}
