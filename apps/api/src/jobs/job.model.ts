import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { Node } from '../graphql/node/node.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { JobKindEnum, JobStatusEnum } from './job.enums.js';

/** Why a job failed. */
@ObjectType({ description: 'Why a job failed.' })
export class JobError {
  @Field(() => String, { description: 'Stable, such as `deadline`, `poison` or `model_rate_limited`. The list grows.' })
  code!: string;

  @Field(() => String, { description: 'A sentence for a person.' })
  message!: string;
}

/** One accepted piece of background work. Its threads, rounds and calls are added by `JobFieldsResolver`. */
@ObjectType('Job', {
  implements: () => [Node],
  description: 'One accepted piece of background work. It reaches exactly one final status.',
})
export class JobModel extends Node {
  @Field(() => ID, { description: 'The id of the job at every door.' })
  id!: string;

  @Field(() => JobKindEnum, { description: 'What it does.' })
  kind!: string;

  @Field(() => JobStatusEnum, { description: 'Where it stands.' })
  status!: string;

  @Field(() => Boolean, { description: 'Whether it waits in line behind another job of its thread.' })
  inLine!: boolean;

  @Field(() => ID, { nullable: true, description: 'The thread it answers in.' })
  threadId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The assistant message it writes.' })
  messageId!: string | null;

  @Field(() => String, { nullable: true, description: "The client's own id of that message, if it gave one." })
  messageClientId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The user who started it; null for Nightshift itself.' })
  createdBy!: string | null;

  @Field(() => ID, { nullable: true, description: 'The job that this one tries again.' })
  retryOf!: string | null;

  @Field(() => ID, { nullable: true, description: 'Of a sub-job: the job whose tool call it is the work of.' })
  parentJobId!: string | null;

  @Field(() => Int, { description: 'How far it is from the job that a person started: 0 for that one.' })
  depth!: number;

  @Field(() => ID, { nullable: true, description: 'Of a workflow job: the workflow.' })
  workflowId!: string | null;

  @Field(() => Int, { nullable: true, description: 'Of a workflow job: the version that it runs, from start to end.' })
  workflowVersion!: number | null;

  @Field(() => String, { description: 'The model that answers.' })
  model!: string;

  @Field(() => Int, { description: 'How often shown text was withdrawn: 0 at first.' })
  attempt!: number;

  @Field(() => Int, { description: 'Number of the newest event in its log.' })
  lastSeq!: number;

  @Field(() => String, {
    nullable: true,
    description: 'Why it ended as it did: a finish reason, an error code, or the reason of the cancel.',
  })
  reason!: string | null;

  @Field(() => JobError, { nullable: true, description: 'Why it failed; null unless FAILED.' })
  error!: JobError | null;

  @Field(() => Boolean, { description: 'Whether somebody has asked it to stop.' })
  cancelRequested!: boolean;

  @Field(() => DateTime, { description: 'When it was accepted.' })
  createdAt!: number;

  @Field(() => DateTime, { nullable: true, description: 'When a worker first took it.' })
  startedAt!: number | null;

  @Field(() => DateTime, { nullable: true, description: 'When it ended.' })
  finishedAt!: number | null;
}

/** A page of jobs. */
export const JobConnection = connectionOf(JobModel, 'Job');
