import { ArgsType, Field, ID, InputType, Int } from '@nestjs/graphql';

import { DateTimeFilter, IdFilter, Json, PageArgs } from '#platform/api';

import { JobKindEnum, JobStatusEnum } from './job.enums.js';

@InputType({ description: 'Compares a status.' })
class JobStatusFilter {
  @Field(() => JobStatusEnum, { nullable: true, description: 'Equals this status.' })
  eq?: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | null;

  @Field(() => [JobStatusEnum], { nullable: true, description: 'Is one of these.' })
  in?: ('queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled')[] | null;
}

@InputType({ description: 'Compares a kind.' })
class JobKindFilter {
  @Field(() => JobKindEnum, { nullable: true, description: 'Equals this kind.' })
  eq?: 'chat' | 'workflow' | null;

  @Field(() => [JobKindEnum], { nullable: true, description: 'Is one of these.' })
  in?: ('chat' | 'workflow')[] | null;
}

/** Filters of a list of jobs. */
@InputType({ description: 'Filters for jobs. All given fields must match.' })
export class JobFilterInput {
  @Field(() => JobStatusFilter, { nullable: true, description: 'By status.' })
  status?: JobStatusFilter | null;

  @Field(() => JobKindFilter, { nullable: true, description: 'By kind.' })
  kind?: JobKindFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By thread (server id).' })
  threadId?: IdFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By workflow (server id).' })
  workflowId?: IdFilter | null;

  @Field(() => IdFilter, { nullable: true, description: 'By the user who started it.' })
  createdBy?: IdFilter | null;

  @Field(() => DateTimeFilter, { nullable: true, description: 'By the time of acceptance.' })
  createdAt?: DateTimeFilter | null;

  @Field(() => Json, {
    nullable: true,
    description: 'Labels that a job must have, with these values: `{"team":"billing"}`.',
  })
  labels?: unknown;
}

/** Arguments of `jobs`. */
@ArgsType()
export class JobsArgs extends PageArgs {
  @Field(() => JobFilterInput, { nullable: true, description: 'Filters. Absent: all jobs that the caller may see.' })
  filter?: JobFilterInput | null;
}

/** Arguments of `jobOfMessage`. */
@ArgsType()
export class JobOfMessageArgs {
  @Field(() => ID, { description: 'The thread, by its server id or by the id that the client chose.' })
  threadId!: string;

  @Field(() => ID, { description: 'The assistant message, by its server id or by the id that the client chose.' })
  messageId!: string;
}

/** Arguments of `jobEvents`. */
@ArgsType()
export class JobEventsArgs {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;

  @Field(() => Int, {
    nullable: true,
    description: 'The last `seq` that the client received. Absent: the stream begins with a snapshot.',
  })
  after?: number | null;
}
