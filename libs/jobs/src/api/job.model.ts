import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, Json, Node } from '#platform/api';

import type { JobFailure } from '../job.js';
import type { JobLabels } from '../job-labels.js';
import { JobKindEnum, JobStatusEnum } from './job.enums.js';

/** Why a job failed. */
@ObjectType({ description: 'Why a job failed.' })
export class JobError {
  @Field(() => String, {
    description: 'A stable code such as `deadline`, `poison` or `model_rate_limited`. The list may grow.',
  })
  code!: string;

  @Field(() => String, { description: 'A message for people.' })
  message!: string;

  @Field(() => Boolean, { description: 'Whether the same work may succeed later without a change.' })
  retryable!: boolean;
}

/** Rows and events have `retryable` only if it is true. */
export function toJobError({ retryable = false, ...failure }: JobFailure): JobError {
  return { ...failure, retryable };
}

/** One accepted piece of background work. `JobFieldsResolver` adds its threads, rounds and calls. */
@ObjectType('Job', {
  implements: () => [Node],
  description: 'One accepted piece of background work. It reaches exactly one final status.',
})
export class JobModel extends Node {
  @Field(() => ID, { description: 'The id of the job, the same in every API.' })
  id!: string;

  @Field(() => JobKindEnum, { description: 'What it does.' })
  kind!: string;

  @Field(() => JobStatusEnum, { description: 'Its current state.' })
  status!: string;

  @Field(() => Boolean, {
    description:
      'Whether the job is not claimable yet: it is queued behind another job of its thread, or its `startAt` has not come.',
  })
  isDeferred!: boolean;

  @Field(() => ID, { nullable: true, description: 'The thread that it writes to.' })
  threadId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The assistant message of the job.' })
  messageId!: string | null;

  @Field(() => String, { nullable: true, description: "The client's own id of that message, if given." })
  messageClientId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The user who started it; null for Nightshift itself.' })
  createdBy!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'For a chat of a Syntrix database: the user of the chat, by the id that the database has for them.',
  })
  externalUserId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The job that this one retries.' })
  retryOf!: string | null;

  @Field(() => ID, { nullable: true, description: 'For a sub-job: the job whose tool call started it.' })
  parentJobId!: string | null;

  @Field(() => Int, { description: 'The number of its ancestors: 0 for a root job.' })
  depth!: number;

  @Field(() => ID, { nullable: true, description: 'For a workflow job: the workflow.' })
  workflowId!: string | null;

  @Field(() => Int, { nullable: true, description: 'For a workflow job: the version, pinned at the start.' })
  workflowVersion!: number | null;

  @Field(() => String, { description: 'The model in use.' })
  model!: string;

  @Field(() => Json, {
    description: 'Key-value pairs, from its start and from hooks: `{"team":"billing"}`. Empty if there are none.',
  })
  labels!: JobLabels;

  @Field(() => Int, { description: 'Number of its `RoundRestartedEvent`s. Each restart removes streamed text.' })
  attempt!: number;

  @Field(() => Int, { description: 'Number of the newest event in its log.' })
  lastSeq!: number;

  @Field(() => String, {
    nullable: true,
    description: 'Why it ended: a finish reason, an error code, or the reason of the cancellation.',
  })
  reason!: string | null;

  @Field(() => JobError, { nullable: true, description: 'Why it failed; null unless FAILED.' })
  error!: JobError | null;

  @Field(() => Boolean, { description: 'Whether cancellation was requested.' })
  cancelRequested!: boolean;

  @Field(() => DateTime, { description: 'When it was accepted.' })
  createdAt!: number;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When a job that was accepted for later begins; it is QUEUED until then. Null: the job began at once.',
  })
  startAt!: number | null;

  @Field(() => DateTime, { nullable: true, description: 'When a worker first claimed it.' })
  startedAt!: number | null;

  @Field(() => DateTime, { nullable: true, description: 'When it ended.' })
  finishedAt!: number | null;
}

/** A page of jobs. */
export const JobConnection = connectionOf(JobModel, 'Job');
