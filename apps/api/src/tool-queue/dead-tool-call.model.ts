import { Field, ID, InputType, ObjectType, registerEnumType } from '@nestjs/graphql';

import type { DeadToolCall } from '#tools';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { UserError } from '../graphql/user-error.model.js';
import { ToolCallStatusEnum } from '../jobs/job.enums.js';

/** GraphQL's names of why something lies among the dead letters. */
export const DeadToolCallReasonEnum = {
  UNREADABLE: 'unreadable',
  UNKNOWN_CALL: 'unknown_call',
  NOT_APPLIED: 'not_applied',
  NOT_TAKEN: 'not_taken',
  ATTEMPTS: 'attempts',
} as const satisfies Record<Uppercase<DeadToolCall['reason']>, DeadToolCall['reason']>;

registerEnumType(DeadToolCallReasonEnum, {
  name: 'DeadToolCallReason',
  description: 'Why something lies among the dead letters. The list may grow.',
  valuesMap: {
    UNREADABLE: { description: 'A message that makes no sense.' },
    UNKNOWN_CALL: { description: 'A response to a call that there is not.' },
    NOT_APPLIED: { description: 'A response that could not be applied.' },
    NOT_TAKEN: { description: 'No process took the call in time; it ended as `TIMED_OUT`.' },
    ATTEMPTS: { description: 'Each process that took the call was lost; it ended as `ERROR`.' },
  },
});

@ObjectType('DeadToolCall', { description: 'Something that the queue of isolated tools gave up.' })
export class DeadToolCallModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => DeadToolCallReasonEnum, { description: 'Why it was given up.' })
  reason!: string;

  @Field(() => DateTime, { description: 'When it was given up.' })
  at!: number;

  @Field(() => ID, { nullable: true, description: 'The call it is about (our id); null: none that is known.' })
  toolCallId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The job of that call.' })
  jobId!: string | null;

  @Field(() => String, { nullable: true, description: 'The tool.' })
  tool!: string | null;

  @Field(() => ToolCallStatusEnum, { nullable: true, description: 'Where the call stands now.' })
  status!: string | null;

  @Field(() => Boolean, {
    description: 'Whether `redriveToolCall` can send the call again: it is still open, and calling it does no harm.',
  })
  canRedrive!: boolean;
}

export const DeadToolCallConnection = connectionOf(DeadToolCallModel, 'DeadToolCall');

@InputType({ description: 'Which dead letter.' })
export class RedriveToolCallInput {
  @Field(() => ID, { description: 'The dead letter.' })
  id!: string;
}

@ObjectType({ description: 'The letter as it was, and its call as it is now; or why nothing was sent.' })
export class RedriveToolCallPayload {
  @Field(() => DeadToolCallModel, { nullable: true, description: 'The letter; it is gone from the list.' })
  deadToolCall?: DeadToolCallModel | null;

  @Field(() => [UserError], { description: 'Why nothing was sent.' })
  userErrors!: UserError[];
}

/** Where the stop of a call stands. */
export const CancelToolCallStateEnum = {
  CANCELLED: 'cancelled',
  STOPPING: 'stopping',
  SETTLED: 'settled',
} as const;

registerEnumType(CancelToolCallStateEnum, {
  name: 'CancelToolCallState',
  description: 'Where the stop of a call stands.',
  valuesMap: {
    CANCELLED: { description: 'Nobody had begun it; it is cancelled.' },
    STOPPING: { description: 'Whoever runs it was told, and has ten seconds.' },
    SETTLED: { description: 'It had ended before.' },
  },
});

@InputType({ description: 'Which call of an isolated tool.' })
export class CancelToolCallInput {
  @Field(() => ID, { description: 'The call (our id).' })
  id!: string;
}

@ObjectType({ description: 'Where the stop stands, or why there is none.' })
export class CancelToolCallPayload {
  @Field(() => CancelToolCallStateEnum, { nullable: true, description: 'Where it stands.' })
  state?: string | null;

  @Field(() => [UserError], { description: 'Why there is none.' })
  userErrors!: UserError[];
}
