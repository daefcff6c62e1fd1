import type { Type } from '@nestjs/common';
import { Field, ID, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, Json, payloadOf } from '#platform/api';

import type { MissedPolicy } from '../missed-slots.js';
import type { SlotStatus, StopReason } from '../schedule.js';
import { MissedSlotsEnum, ScheduleStopEnum, SlotStatusEnum } from './schedule.enums.js';

@ObjectType({ description: 'Why a scheduled time started no job.' })
export class ScheduledSlotError {
  @Field(() => String, { description: 'An error code such as `job_limit_reached`.' })
  code!: string;

  @Field(() => String, { description: 'A message for people.' })
  message!: string;

  @Field(() => Boolean, { description: 'Whether the same start may succeed later without a change.' })
  retryable!: boolean;
}

@ObjectType('ScheduledSlot', { description: 'A scheduled time of a schedule and its result.' })
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

/** The fields of every schedule. Resolvers add the computed fields. */
@ObjectType({ isAbstract: true })
abstract class ScheduleModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { nullable: true, description: 'Its name, unique in the workspace. Null: none.' })
  name!: string | null;

  @Field(() => String, { description: 'Minute, hour, day of month, month, day of week, as in crontab(5).' })
  cron!: string;

  @Field(() => String, { description: 'Its time zone, a name of the time zone database.' })
  timeZone!: string;

  @Field(() => MissedSlotsEnum, { description: 'What happens to missed scheduled times.' })
  missed!: MissedPolicy;

  @Field(() => Boolean, { description: 'Whether it starts jobs.' })
  enabled!: boolean;

  @Field(() => ScheduleStopEnum, { nullable: true, description: 'Why the server disabled it. Null: it did not.' })
  stoppedBecause!: StopReason | null;

  @Field(() => String, { description: 'Who created it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: number;
}

@ObjectType('WorkflowSchedule', { description: 'A schedule that starts a workflow.' })
export class WorkflowScheduleModel extends ScheduleModel {
  @Field(() => ID, { description: 'The workflow. Each job runs the version published at that time.' })
  workflowId!: string;

  @Field(() => String, { description: 'The prompt of its jobs.' })
  prompt!: string;

  @Field(() => String, {
    description:
      'The member or API key that last saved, enabled or disabled the schedule: `user:<id>` or `key:<id>`. The schedule starts jobs as long as this principal may manage workflows. The jobs do not have its rights: they act as Nightshift itself.',
  })
  savedBy!: string;
}

@ObjectType({ description: 'The agent of a scheduled chat.' })
export class ScheduledAgent {
  @Field(() => ID, { nullable: true, description: 'Its id, slug or name, as it was saved. Null: `auto`.' })
  id!: string | null;

  @Field(() => Boolean, { nullable: true, description: 'True: a model chooses the agent of each job.' })
  auto!: boolean | null;
}

@ObjectType('ChatSchedule', {
  description: 'A schedule that starts a chat, with the rights of the member or API key that last saved it.',
})
export class ChatScheduleModel extends ScheduleModel {
  @Field(() => Json, { description: 'The messages of each job, in the format of OpenAI.' })
  messages!: unknown;

  @Field(() => ScheduledAgent, { nullable: true, description: 'The agent. Null: none.' })
  agent!: ScheduledAgent | null;

  @Field(() => String, { nullable: true, description: 'The model. Null: that of the agent, or the default.' })
  model!: string | null;

  @Field(() => [String], { description: 'Names of the tools that the model may call.' })
  tools!: readonly string[];

  @Field(() => ID, {
    nullable: true,
    description: 'The thread of its jobs, which run one after the other. Null: each job has a new thread.',
  })
  threadId!: string | null;

  @Field(() => String, {
    description:
      'The member or API key that last saved the schedule: `user:<id>` or `key:<id>`. Its jobs start with the rights of this principal. Enabling or disabling the schedule does not change it.',
  })
  savedBy!: string;
}

export const WorkflowScheduleConnection = connectionOf(WorkflowScheduleModel, 'WorkflowSchedule');
export const ChatScheduleConnection = connectionOf(ChatScheduleModel, 'ChatSchedule');

const payload = (name: string, model: Type<object>) =>
  payloadOf({
    name,
    description: 'The schedule after the change (before it, if removed), or the reasons why nothing changed.',
    fields: { schedule: [model, 'The schedule.'] },
  });

export const WorkflowSchedulePayload = payload('WorkflowSchedulePayload', WorkflowScheduleModel);
export const ChatSchedulePayload = payload('ChatSchedulePayload', ChatScheduleModel);
