import { Module } from '@nestjs/common';

import { JobsModule } from '#jobs';

import { ApprovalsModule } from '../../approvals.module.js';
import { ClientToolSwitch } from './client-tool-switch.js';
import { ClientToolsController } from './client-tools.controller.js';
import { ClientToolsResolver } from './client-tools.resolver.js';
import { ClientToolsOnGuard } from './client-tools-on.guard.js';

/** The REST and GraphQL APIs of calls that clients run. */
@Module({
  imports: [JobsModule, ApprovalsModule],
  controllers: [ClientToolsController],
  providers: [ClientToolSwitch, ClientToolsOnGuard, ClientToolsResolver],
})
export class ClientToolsApiModule {}
