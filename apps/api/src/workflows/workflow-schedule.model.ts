import { Field, ID, ObjectType } from '@nestjs/graphql';

import type { MissedPolicy, SlotStatus, StopReason } from '#workflows';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { UserError } from '../graphql/user-error.model.js';
import { MissedSlotsEnum, ScheduleStopEnum, SlotStatusEnum } from './workflow-schedule.enums.js';

@ObjectType({ description: 'Why a slot started no job.' })
export class ScheduledSlotError {
  @Field(() => String, { description: 'As errors are coded everywhere, such as `job_limit_reached`.' })
  code!: string;

  @Field(() => String, { description: 'A sentence for a person.' })
  message!: string;
}

@ObjectType('ScheduledSlot', { description: 'An instant at which a schedule came, and what became of it.' })
export class ScheduledSlotModel {
  @Field(() => DateTime, { description: 'The instant.' })
  slotAt!: number;

  @Field(() => SlotStatusEnum, { description: 'What became of it.' })
  status!: SlotStatus;

  @Field(() => ID, { nullable: true, description: 'The job it started. Retention may have removed it.' })
  jobId!: string | null;

  @Field(() => ScheduledSlotError, { nullable: true, description: 'Why it failed, or what it waits for.' })
  error!: ScheduledSlotError | null;
}

/** A schedule. What is computed is added by `WorkflowSchedulesResolver`. */
@ObjectType('WorkflowSchedule', { description: 'When a workflow runs by itself.' })
export class WorkflowScheduleModel {
  @Field(() => ID, { description: 'Our id of it.' })
  id!: string;

  @Field(() => ID, { description: 'The workflow. What runs is what is published then.' })
  workflowId!: string;

  @Field(() => String, { description: 'Minute, hour, day of month, month, day of week, as in crontab(5).' })
  cron!: string;

  @Field(() => String, { description: 'Whose clocks count: a name of the time zone database.' })
  timeZone!: string;

  @Field(() => MissedSlotsEnum, { description: 'What becomes of slots that nobody was there for.' })
  missed!: MissedPolicy;

  @Field(() => String, { description: 'What its jobs are told.' })
  prompt!: string;

  @Field(() => Boolean, { description: 'Whether it starts jobs.' })
  enabled!: boolean;

  @Field(() => ScheduleStopEnum, { nullable: true, description: 'Why it was disabled, if not by a person.' })
  stoppedBecause!: StopReason | null;

  @Field(() => String, { description: 'Who made it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => String, {
    description: 'Who saved or enabled it last. It starts jobs as long as they may manage workflows.',
  })
  savedBy!: string;

  @Field(() => DateTime, { description: 'When it was made.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: number;
}

export const WorkflowScheduleConnection = connectionOf(WorkflowScheduleModel, 'WorkflowSchedule');

@ObjectType({ description: 'The schedule as it is now (or was, when removed), or why nothing changed.' })
export class WorkflowSchedulePayload {
  @Field(() => WorkflowScheduleModel, { nullable: true, description: 'The schedule.' })
  schedule?: WorkflowScheduleModel | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}
