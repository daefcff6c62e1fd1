import { Module } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';

import { InterruptInbox } from './interrupt-inbox.js';
import { InterruptsController } from './interrupts.controller.js';

/** Requests to people over REST. */
@Module({
  imports: [ChatModule, JobsModule, ApprovalsModule],
  controllers: [InterruptsController],
  providers: [InterruptInbox],
})
export class InterruptInboxModule {}
