import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { defineEnum, UserError } from '#platform/api';

import type { StopState } from '../cancel/job-stopper.js';
import type { StartedJob } from '../start/start-request.js';
import { JobStatusEnum } from './job.enums.js';
import { JobModel } from './job.model.js';

/** GraphQL's names of how a stop went. */
export const StopStateEnum = defineEnum('StopState', 'The result of a cancellation.', {
  ABORTED: ['aborted', 'The job is cancelled.'],
  ALREADY_TERMINAL: ['already_terminal', 'The call had already ended.'],
  CANCEL_REQUESTED: [
    'cancel_requested',
    'The worker was notified and has not ended the job yet. The job will end as CANCELLED.',
  ],
}) satisfies Record<string, Exclude<StopState, 'not_found'>>;

/** What a start gives. The ids are known at once; `job` reads the whole job. */
@ObjectType({ description: 'The started job, or the reasons why none was started.' })
export class StartJobPayload {
  @Field(() => ID, { nullable: true, description: 'The job.' })
  jobId?: string | null;

  @Field(() => JobStatusEnum, {
    nullable: true,
    description: 'Its status: QUEUED, or any status if `replayed`.',
  })
  status?: string | null;

  @Field(() => ID, { nullable: true, description: 'The thread: server id, or the id of the client.' })
  threadId?: string | null;

  @Field(() => ID, {
    nullable: true,
    description: "The assistant message of the job: server id, or the client's own id.",
  })
  messageId?: string | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether an earlier request with this idempotency key started the job. Then nothing new was stored.',
  })
  replayed?: boolean | null;

  @Field(() => [UserError], { description: 'The reasons why nothing was started. Empty if a job was started.' })
  userErrors!: UserError[];
}

/** What a start gives before `job` is read. */
export type StartPayload = Partial<StartedJob> & { readonly userErrors: readonly UserError[] };

@ObjectType({ description: 'The result of the cancellation.' })
export class CancelJobPayload {
  @Field(() => StopStateEnum, { nullable: true, description: 'The result.' })
  state?: string | null;

  @Field(() => Int, { nullable: true, description: 'How many descendant jobs were cancelled.' })
  stoppedSubJobs?: number | null;

  @Field(() => JobModel, { nullable: true, description: 'The current state of the job.' })
  job?: JobModel | null;

  @Field(() => [UserError], { description: 'The reasons why nothing was cancelled.' })
  userErrors!: UserError[];
}
