import { Field, ID, InputType, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, defineEnum, payloadOf } from '#platform/api';

import type { DeadToolCall } from '../../remote/dead-tool-calls.service.js';
import { ToolCallStatusEnum } from '../tool-calls/tool-call.enums.js';

/** The GraphQL names of the reasons for a dead letter. */
export const DeadToolCallReasonEnum = defineEnum(
  'DeadToolCallReason',
  'Why a message became a dead letter. The list may grow.',
  {
    UNREADABLE: ['unreadable', 'A message that could not be parsed.'],
    UNKNOWN_CALL: ['unknown_call', 'A response to an unknown call.'],
    NOT_APPLIED: ['not_applied', 'The worker could not store the result that a tool process sent.'],
    NOT_TAKEN: ['not_taken', 'No tool process claimed the call in time. It ended as `TIMED_OUT`.'],
    ATTEMPTS: ['attempts', 'Every process that ran the call was lost. The call ended as `ERROR`.'],
  },
) satisfies Record<Uppercase<DeadToolCall['reason']>, DeadToolCall['reason']>;

@ObjectType('DeadToolCall', { description: 'A message that the tool queue gave up on.' })
export class DeadToolCallModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => DeadToolCallReasonEnum, { description: 'Why it became a dead letter.' })
  reason!: string;

  @Field(() => DateTime, { description: 'When it became a dead letter.' })
  at!: number;

  @Field(() => ID, { nullable: true, description: 'The call (server id). Null: unknown.' })
  toolCallId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The job of the call.' })
  jobId!: string | null;

  @Field(() => String, { nullable: true, description: 'The tool.' })
  tool!: string | null;

  @Field(() => ToolCallStatusEnum, { nullable: true, description: 'The current status of the call.' })
  status!: string | null;

  @Field(() => Boolean, {
    description: 'Whether `redriveToolCall` can send the call again: the call is open and safe to repeat.',
  })
  canRedrive!: boolean;
}

export const DeadToolCallConnection = connectionOf(DeadToolCallModel, 'DeadToolCall');

@InputType({ description: 'The dead letter to send again.' })
export class RedriveToolCallInput {
  @Field(() => ID, { description: 'The dead letter.' })
  id!: string;
}

export const RedriveToolCallPayload = payloadOf({
  name: 'RedriveToolCallPayload',
  description: 'The dead letter and its call, or the reasons why nothing was sent.',
  fields: { deadToolCall: [DeadToolCallModel, 'The dead letter, removed from the list.'] },
  errors: 'The reasons why nothing was sent.',
});

/** The GraphQL names of the states of a cancellation. */
export const CancelToolCallStateEnum = defineEnum('CancelToolCallState', "The state of a call's cancellation.", {
  CANCELLED: ['cancelled', 'The call had not started; it is cancelled.'],
  STOPPING: ['stopping', 'The tool process was notified and has ten seconds to stop.'],
  SETTLED: ['settled', 'The call had already ended.'],
});

@InputType({ description: 'The isolated tool call to cancel.' })
export class CancelToolCallInput {
  @Field(() => ID, { description: 'The call (server id).' })
  id!: string;
}

export const CancelToolCallPayload = payloadOf({
  name: 'CancelToolCallPayload',
  description: 'The state of the cancellation, or the reasons why the call was not cancelled.',
  fields: { state: [CancelToolCallStateEnum, 'The current state of the cancellation.'] },
  errors: 'The reasons why the call was not cancelled.',
});
