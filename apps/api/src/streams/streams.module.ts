import { Module } from '@nestjs/common';

import { JobsModule } from '#jobs';

import { JobStreams } from './job-streams.js';
import { OpenStreams } from './open-streams.js';
import { ViewerAccess } from './viewer-access.js';

/** What all live streams have in common, SSE and GraphQL alike. */
@Module({
  imports: [JobsModule],
  providers: [JobStreams, OpenStreams, ViewerAccess],
  exports: [JobStreams, OpenStreams, ViewerAccess],
})
export class StreamsModule {}
