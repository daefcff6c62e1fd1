import { Module } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { JobsModule } from '#jobs';

import { ClientToolSwitch } from './client-tool-switch.js';
import { ClientToolsController } from './client-tools.controller.js';
import { ClientToolsOnGuard } from './client-tools-on.guard.js';

/** Calls that clients run, over REST. */
@Module({
  imports: [JobsModule, ApprovalsModule],
  controllers: [ClientToolsController],
  providers: [ClientToolSwitch, ClientToolsOnGuard],
  exports: [ClientToolSwitch],
})
export class ClientToolsApiModule {}
