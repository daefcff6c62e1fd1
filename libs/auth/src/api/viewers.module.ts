import { Module } from '@nestjs/common';

import { OpenStreams } from '#platform/api';

import { ViewerAccess } from './viewer-access.js';
import { Viewers } from './viewers.js';

/** The live streams of this process, their limits, and the rights of their viewers. Requires a global `AuthModule`. */
@Module({
  providers: [OpenStreams, ViewerAccess, Viewers],
  exports: [OpenStreams, ViewerAccess, Viewers],
})
export class ViewersModule {}
