import { Field, ID, Int, ObjectType, registerEnumType } from '@nestjs/graphql';

import type { StopState } from '#jobs';

import { UserError } from '../graphql/user-error.model.js';
import { JobStatusEnum } from './job.enums.js';
import { JobModel } from './job.model.js';

/** GraphQL's names of how a stop went. */
export const StopStateEnum = {
  ABORTED: 'aborted',
  ALREADY_TERMINAL: 'already_terminal',
  CANCEL_REQUESTED: 'cancel_requested',
} as const satisfies Record<string, Exclude<StopState, 'not_found'>>;

registerEnumType(StopStateEnum, {
  name: 'StopState',
  description: 'How a stop went.',
  valuesMap: {
    ABORTED: { description: 'The job is cancelled.' },
    ALREADY_TERMINAL: { description: 'It had ended before.' },
    CANCEL_REQUESTED: { description: 'Its worker was told and has not answered yet; it will end as CANCELLED.' },
  },
});

/** What a start gives. The ids are known at once; `job` reads the whole job. */
@ObjectType({ description: 'The job that was started, or why none was.' })
export class StartJobPayload {
  @Field(() => ID, { nullable: true, description: 'The job.' })
  jobId?: string | null;

  @Field(() => JobStatusEnum, {
    nullable: true,
    description: 'Where it stands: QUEUED, or anything when the key had started it before.',
  })
  status?: string | null;

  @Field(() => ID, { nullable: true, description: 'The thread: our id, or the one the client gave it.' })
  threadId?: string | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The assistant message that is written: our id, or the one the client gave it.',
  })
  messageId?: string | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether the idempotency key had started this job before; then nothing new was stored.',
  })
  replayed?: boolean | null;

  @Field(() => [UserError], { description: 'Why nothing was started; empty when something was.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'How the stop went.' })
export class CancelJobPayload {
  @Field(() => StopStateEnum, { nullable: true, description: 'How it went.' })
  state?: string | null;

  @Field(() => Int, { nullable: true, description: 'How many jobs below it were stopped, at every depth.' })
  stoppedSubJobs?: number | null;

  @Field(() => JobModel, { nullable: true, description: 'The job as it is now.' })
  job?: JobModel | null;

  @Field(() => [UserError], { description: 'Why nothing was stopped.' })
  userErrors!: UserError[];
}
