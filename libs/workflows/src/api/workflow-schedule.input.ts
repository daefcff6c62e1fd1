import { Field, ID, InputType } from '@nestjs/graphql';

import type { MissedPolicy } from '../schedules/missed-slots.js';
import { MissedSlotsEnum } from './workflow-schedule.enums.js';

@InputType({ description: 'A schedule to save.' })
export class SaveWorkflowScheduleInput {
  @Field(() => ID, { nullable: true, description: 'The schedule. Absent: the one with `name`, or a new one.' })
  id?: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      'Its name, 1 to 100 characters, unique in the workspace. Without `id`, a repeated save replaces the schedule with this name. Absent: the name stays. Null: none.',
  })
  name?: string | null;

  @Field(() => ID, { description: 'The workflow: server id, or the id of its document. It cannot be changed.' })
  workflowId!: string;

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
    description: 'What happens to missed slots.',
  })
  missed!: MissedPolicy;

  @Field(() => String, { description: 'The prompt of its jobs, 1 to 12,000 characters.' })
  prompt!: string;

  @Field(() => Boolean, { defaultValue: true, description: 'Whether it starts jobs.' })
  enabled!: boolean;
}

@InputType({ description: 'A schedule to enable or disable.' })
export class SetWorkflowScheduleEnabledInput {
  @Field(() => ID, { description: 'The schedule.' })
  id!: string;

  @Field(() => Boolean, { description: 'Whether it starts jobs: from the next slot on.' })
  enabled!: boolean;
}

@InputType({ description: 'A schedule to remove.' })
export class RemoveWorkflowScheduleInput {
  @Field(() => ID, { description: 'The schedule.' })
  id!: string;
}
