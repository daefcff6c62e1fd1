import { Module } from '@nestjs/common';

import { JobsModule } from '#jobs';
import { WorkflowsModule } from '#workflows';

import { JobFeeds } from './job-feeds.js';
import { JobStreams } from './job-streams.js';
import { OpenStreams } from './open-streams.js';
import { SlowViewers } from './slow-viewers.js';
import { ViewerAccess } from './viewer-access.js';

/** What all live streams have in common, SSE and GraphQL alike. */
@Module({
  imports: [JobsModule, WorkflowsModule],
  providers: [JobFeeds, JobStreams, OpenStreams, SlowViewers, ViewerAccess],
  exports: [JobStreams, OpenStreams, SlowViewers, ViewerAccess],
})
export class StreamsModule {}
