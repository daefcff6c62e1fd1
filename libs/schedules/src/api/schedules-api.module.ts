import { Module } from '@nestjs/common';

import { SchedulesModule } from '../schedules.module.js';
import { ChatSchedulesResolver } from './chat-schedules.resolver.js';
import { scheduleFieldsResolvers } from './schedule-fields.resolver.js';
import { WorkflowSchedulesResolver } from './workflow-schedules.resolver.js';

/** The GraphQL API of the schedules of chats and workflows. */
@Module({
  imports: [SchedulesModule],
  providers: [ChatSchedulesResolver, WorkflowSchedulesResolver, ...scheduleFieldsResolvers],
})
export class SchedulesApiModule {}
