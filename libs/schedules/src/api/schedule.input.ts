import { Field, ID, InputType } from '@nestjs/graphql';

import { AgentSelectionInput, ChatMessageInput } from '#chat/api';

import type { MissedPolicy } from '../missed-slots.js';
import { MissedSlotsEnum } from './schedule.enums.js';

@InputType({ isAbstract: true })
abstract class SaveScheduleInput {
  @Field(() => ID, { nullable: true, description: 'The schedule. Absent: the one with `name`, or a new one.' })
  id?: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      'Its name, 1 to 100 characters, unique in the workspace. Without `id`, a repeated save replaces the schedule with this name. Absent: the name stays. Null: none.',
  })
  name?: string | null;

  @Field(() => String, {
    description: 'Minute, hour, day of month, month, day of week, as in crontab(5): `30 7 * * MON-FRI`.',
  })
  cron!: string;

  @Field(() => String, {
    defaultValue: 'UTC',
    description: 'Its time zone, a name of the time zone database such as `Europe/Berlin`.',
  })
  timeZone!: string;

  @Field(() => MissedSlotsEnum, {
    defaultValue: 'once',
    description: 'What happens to missed scheduled times.',
  })
  missed!: MissedPolicy;

  @Field(() => Boolean, { defaultValue: true, description: 'Whether it starts jobs.' })
  enabled!: boolean;
}

@InputType({ description: 'A schedule to save.' })
export class SaveWorkflowScheduleInput extends SaveScheduleInput {
  @Field(() => ID, { description: 'The workflow: server id, or the id of its document. It cannot be changed.' })
  workflowId!: string;

  @Field(() => String, { description: 'The prompt of its jobs, 1 to 12,000 characters.' })
  prompt!: string;
}

@InputType({ description: 'A schedule of a chat to save.' })
export class SaveChatScheduleInput extends SaveScheduleInput {
  @Field(() => String, { nullable: true, description: 'The user message of each job. Set either this or `messages`.' })
  message?: string | null;

  @Field(() => [ChatMessageInput], {
    nullable: true,
    description: 'Several messages, which each job adds to its thread. Set either this or `message`.',
  })
  messages?: ChatMessageInput[] | null;

  @Field(() => AgentSelectionInput, {
    nullable: true,
    description: 'The agent: a given one, or the best fit. Its tools are offered and limit `tools`.',
  })
  agent?: AgentSelectionInput | null;

  @Field(() => String, {
    nullable: true,
    description: 'The model, unless the agent has one. Absent: the default of the provider.',
  })
  model?: string | null;

  @Field(() => [String], { nullable: true, description: 'Names of the tools that the model may call. Absent: none.' })
  tools?: string[] | null;

  @Field(() => ID, {
    nullable: true,
    description:
      "The thread: server id, or the client's own id, which creates a thread if it is new. Absent: a new thread for each job.",
  })
  threadId?: string | null;
}

@InputType({ isAbstract: true })
abstract class RemoveScheduleInput {
  @Field(() => ID, { description: 'The schedule.' })
  id!: string;
}

@InputType({ isAbstract: true })
abstract class SetScheduleEnabledInput extends RemoveScheduleInput {
  @Field(() => Boolean, { description: 'Whether the schedule starts jobs, beginning with its next scheduled time.' })
  enabled!: boolean;
}

@InputType({ description: 'A schedule to enable or disable.' })
export class SetWorkflowScheduleEnabledInput extends SetScheduleEnabledInput {}

@InputType({ description: 'A schedule to remove.' })
export class RemoveWorkflowScheduleInput extends RemoveScheduleInput {}

@InputType({ description: 'A schedule of a chat to enable or disable.' })
export class SetChatScheduleEnabledInput extends SetScheduleEnabledInput {}

@InputType({ description: 'A schedule of a chat to remove.' })
export class RemoveChatScheduleInput extends RemoveScheduleInput {}
