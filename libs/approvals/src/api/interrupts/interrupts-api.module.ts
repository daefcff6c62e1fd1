import { Module } from '@nestjs/common';

import { ViewersModule } from '#auth/api';
import { JobsModule } from '#jobs';
import { JobsApiModule } from '#jobs/api';

import { ApprovalsModule } from '../../approvals.module.js';
import { InterruptActivity } from './interrupt-activity.js';
import { InterruptActivityResolver } from './interrupt-activity.resolver.js';
import {
  InterruptFieldsResolver,
  JobInterruptsResolver,
  NotificationInterruptResolver,
} from './interrupt-fields.resolver.js';
import { InterruptLoaders } from './interrupt-loaders.js';
import { InterruptMutationsResolver } from './interrupt-mutations.resolver.js';
import { InterruptsResolver } from './interrupts.resolver.js';

/** The GraphQL API of requests to people and clients. */
@Module({
  imports: [JobsApiModule, JobsModule, ApprovalsModule, ViewersModule],
  providers: [
    InterruptActivity,
    InterruptLoaders,
    InterruptActivityResolver,
    InterruptFieldsResolver,
    InterruptMutationsResolver,
    InterruptsResolver,
    JobInterruptsResolver,
    NotificationInterruptResolver,
  ],
  exports: [InterruptLoaders],
})
export class InterruptsApiModule {}
