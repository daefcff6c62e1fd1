import { Module } from '@nestjs/common';

import { PrincipalsModule } from '#auth';
import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { WorkflowsModule } from '#workflows';

import { DueSchedulesRepository } from './due-schedules.repository.js';
import { ScheduleTimers } from './schedule-timers.js';
import { ScheduledStarts } from './scheduled-starts.js';
import { SchedulesRepository } from './schedules.repository.js';
import { SchedulesService } from './schedules.service.js';

/** Schedules of chats and of workflows. Expects the platform. */
@Module({
  imports: [ChatModule, JobsModule, PrincipalsModule, WorkflowsModule],
  providers: [DueSchedulesRepository, ScheduledStarts, SchedulesRepository, SchedulesService, ScheduleTimers],
  exports: [SchedulesService, ScheduleTimers],
})
export class SchedulesModule {}
