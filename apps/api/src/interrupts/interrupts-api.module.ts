import { Module } from '@nestjs/common';

import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { ApprovalsModule } from '#tools';

import { InterruptInbox } from './interrupt-inbox.js';
import { InterruptsController } from './interrupts.controller.js';

/** Requests to people over REST. */
@Module({
  imports: [ChatModule, JobsModule, ApprovalsModule],
  controllers: [InterruptsController],
  providers: [InterruptInbox],
})
export class InterruptsApiModule {}
