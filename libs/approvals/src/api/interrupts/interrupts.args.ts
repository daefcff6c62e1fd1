import { ArgsType, Field, InputType } from '@nestjs/graphql';

import type { InterruptKind, InterruptStatus } from '#jobs';
import { InterruptKindEnum, InterruptStatusEnum } from '#jobs/api';
import { DateTimeFilter, IdFilter, PageArgs } from '#platform/api';

@InputType({ description: 'Compares the status of a request.' })
class InterruptStatusFilter {
  @Field(() => InterruptStatusEnum, { nullable: true, description: 'Equals this status.' })
  eq?: InterruptStatus | null;

  @Field(() => [InterruptStatusEnum], { nullable: true, description: 'Is one of these.' })
  in?: InterruptStatus[] | null;
}

@InputType({ description: 'Compares the kind of a request.' })
class InterruptKindFilter {
  @Field(() => InterruptKindEnum, { nullable: true, description: 'Equals this kind.' })
  eq?: InterruptKind | null;

  @Field(() => [InterruptKindEnum], { nullable: true, description: 'Is one of these.' })
  in?: InterruptKind[] | null;
}

@InputType({ description: 'Compares the name of a tool.' })
class ToolNameFilter {
  @Field(() => String, { description: 'Equals this name.' })
  eq!: string;
}

@InputType({ description: 'Filters for requests. All given fields must match.' })
export class InterruptFilterInput {
  @Field(() => InterruptStatusFilter, { nullable: true, description: 'By status.' })
  status?: InterruptStatusFilter | null;

  @Field(() => InterruptKindFilter, { nullable: true, description: 'By kind.' })
  kind?: InterruptKindFilter | null;

  @Field(() => ToolNameFilter, { nullable: true, description: 'By the tool of the call.' })
  tool?: ToolNameFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By the job that waits.' })
  jobId?: IdFilter | null;

  @Field(() => IdFilter, {
    nullable: true,
    description: 'By root job: its requests and those of its sub-jobs. For a sub-job: only its own requests.',
  })
  rootJobId?: IdFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By thread (server id).' })
  threadId?: IdFilter | null;

  @Field(() => IdFilter, {
    nullable: true,
    description:
      'By who may decide: `MINE` for the caller, or the id of a user for the requests of jobs that this user started.',
  })
  assignee?: IdFilter | null;

  @Field(() => DateTimeFilter, { nullable: true, description: 'By the time of opening.' })
  createdAt?: DateTimeFilter | null;
}

/** Arguments of `interrupts`. */
@ArgsType()
export class InterruptsArgs extends PageArgs {
  @Field(() => InterruptFilterInput, {
    nullable: true,
    description: 'Filters. Absent: all interrupts that the caller may see.',
  })
  filter?: InterruptFilterInput | null;
}

/** Arguments of `interruptActivity`. */
@ArgsType()
export class InterruptActivityArgs {
  @Field(() => InterruptFilterInput, {
    nullable: true,
    description: 'Filters. Absent: all interrupts that the caller may see.',
  })
  filter?: InterruptFilterInput | null;
}
