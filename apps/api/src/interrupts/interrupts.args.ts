import { ArgsType, Field, InputType } from '@nestjs/graphql';

import type { InterruptKind, InterruptStatus } from '#jobs';

import { PageArgs } from '../graphql/connections/page.args.js';
import { DateTimeFilter, IdFilter } from '../graphql/filters/filter.input.js';
import { InterruptKindEnum, InterruptStatusEnum } from './interrupt.enums.js';

@InputType({ description: 'Compares where a request stands.' })
class InterruptStatusFilter {
  @Field(() => InterruptStatusEnum, { nullable: true, description: 'Is this one.' })
  eq?: InterruptStatus | null;

  @Field(() => [InterruptStatusEnum], { nullable: true, description: 'Is one of these.' })
  in?: InterruptStatus[] | null;
}

@InputType({ description: 'Compares what a request asks for.' })
class InterruptKindFilter {
  @Field(() => InterruptKindEnum, { nullable: true, description: 'Is this one.' })
  eq?: InterruptKind | null;

  @Field(() => [InterruptKindEnum], { nullable: true, description: 'Is one of these.' })
  in?: InterruptKind[] | null;
}

@InputType({ description: 'Compares the name of a tool.' })
class ToolNameFilter {
  @Field(() => String, { description: 'Is this one.' })
  eq!: string;
}

/** Which requests. */
@InputType({ description: 'Which requests a list shows; every member narrows it.' })
export class InterruptFilterInput {
  @Field(() => InterruptStatusFilter, { nullable: true, description: 'By status.' })
  status?: InterruptStatusFilter | null;

  @Field(() => InterruptKindFilter, { nullable: true, description: 'By kind.' })
  kind?: InterruptKindFilter | null;

  @Field(() => ToolNameFilter, { nullable: true, description: 'By the tool they are about.' })
  tool?: ToolNameFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By the job that waits.' })
  jobId?: IdFilter | null;

  @Field(() => IdFilter, {
    nullable: true,
    description:
      'By the job that a person started: what that one waits for, and all its sub-jobs. Of a sub-job, what it waits for itself.',
  })
  rootJobId?: IdFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By thread (our id).' })
  threadId?: IdFilter | null;

  @Field(() => IdFilter, {
    nullable: true,
    description:
      'By whom they wait for: `MINE` for all that one may decide oneself, or the id of a user for what is left to that user as the one who asked.',
  })
  assignee?: IdFilter | null;

  @Field(() => DateTimeFilter, { nullable: true, description: 'By the instant they were opened.' })
  createdAt?: DateTimeFilter | null;
}

/** Arguments of `interrupts`. */
@ArgsType()
export class InterruptsArgs extends PageArgs {
  @Field(() => InterruptFilterInput, { nullable: true, description: 'Which requests; absent: all that one may see.' })
  filter?: InterruptFilterInput | null;
}

/** Arguments of `interruptActivity`. */
@ArgsType()
export class InterruptActivityArgs {
  @Field(() => InterruptFilterInput, { nullable: true, description: 'Which requests; absent: all that one may see.' })
  filter?: InterruptFilterInput | null;
}
