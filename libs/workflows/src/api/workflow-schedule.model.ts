import { Field, ID, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, UserError } from '#platform/api';

import type { MissedPolicy } from '../schedules/missed-slots.js';
import type { SlotStatus, StopReason } from '../schedules/schedule.js';
import { MissedSlotsEnum, ScheduleStopEnum, SlotStatusEnum } from './workflow-schedule.enums.js';

@ObjectType({ description: 'Why a slot started no job.' })
export class ScheduledSlotError {
  @Field(() => String, { description: 'An error code such as `job_limit_reached`.' })
  code!: string;

  @Field(() => String, { description: 'A message for people.' })
  message!: string;
}

@ObjectType('ScheduledSlot', { description: 'A slot of a schedule and its result.' })
export class ScheduledSlotModel {
  @Field(() => DateTime, { description: 'The instant.' })
  slotAt!: number;

  @Field(() => SlotStatusEnum, { description: 'Its status.' })
  status!: SlotStatus;

  @Field(() => ID, {
    nullable: true,
    description:
      'The job that it started. The job may have been deleted since then, at the end of its retention period.',
  })
  jobId!: string | null;

  @Field(() => ScheduledSlotError, { nullable: true, description: 'Why it failed, or why it waits.' })
  error!: ScheduledSlotError | null;
}

/** A schedule. What is computed is added by `WorkflowSchedulesResolver`. */
@ObjectType('WorkflowSchedule', { description: 'A schedule that starts a workflow.' })
export class WorkflowScheduleModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { nullable: true, description: 'Its name, unique in the workspace. Null: none.' })
  name!: string | null;

  @Field(() => ID, { description: 'The workflow. Each job runs the version published at that time.' })
  workflowId!: string;

  @Field(() => String, { description: 'Minute, hour, day of month, month, day of week, as in crontab(5).' })
  cron!: string;

  @Field(() => String, { description: 'Its time zone, a name of the time zone database.' })
  timeZone!: string;

  @Field(() => MissedSlotsEnum, { description: 'What happens to missed slots.' })
  missed!: MissedPolicy;

  @Field(() => String, { description: 'The prompt of its jobs.' })
  prompt!: string;

  @Field(() => Boolean, { description: 'Whether it starts jobs.' })
  enabled!: boolean;

  @Field(() => ScheduleStopEnum, { nullable: true, description: 'Why the server disabled it. Null: it did not.' })
  stoppedBecause!: StopReason | null;

  @Field(() => String, { description: 'Who created it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => String, {
    description: 'The member who last saved or enabled it. It starts jobs as long as that member may manage workflows.',
  })
  savedBy!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: number;
}

export const WorkflowScheduleConnection = connectionOf(WorkflowScheduleModel, 'WorkflowSchedule');

@ObjectType({
  description: 'The schedule after the change (before it, if removed), or the reasons why nothing changed.',
})
export class WorkflowSchedulePayload {
  @Field(() => WorkflowScheduleModel, { nullable: true, description: 'The schedule.' })
  schedule?: WorkflowScheduleModel | null;

  @Field(() => [UserError], { description: 'The reasons why nothing changed.' })
  userErrors!: UserError[];
}
