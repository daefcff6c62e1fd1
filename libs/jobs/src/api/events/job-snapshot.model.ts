import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { DateTime, Json } from '#platform/api';

import { InterruptKindEnum } from '../interrupt.enums.js';
import { ToolCallStatusEnum } from '../job.enums.js';

/** A tool call as events show it. */
@ObjectType({ description: 'The state of a tool call when the event was stored. Texts are truncated to 32 KiB.' })
export class ToolCallState {
  @Field(() => String, { description: 'The call id that the model uses.' })
  callId!: string;

  @Field(() => Int, { description: 'The round that requested it.' })
  round!: number;

  @Field(() => String, { description: 'Name of the tool.' })
  name!: string;

  @Field(() => ToolCallStatusEnum, { description: 'Its status.' })
  status!: string;

  @Field(() => String, {
    description: 'The arguments as JSON text: as the model wrote them, or as a person approved them.',
  })
  arguments!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The arguments that the model proposed, if a person edited them. Null: not edited.',
  })
  proposedArguments!: string | null;

  @Field(() => String, { nullable: true, description: 'The result of the tool.' })
  result!: string | null;

  @Field(() => String, { nullable: true, description: 'Why the call has no result, as the model reads it.' })
  error!: string | null;

  @Field(() => Boolean, { nullable: true, description: 'Of an error: whether the same call may succeed later.' })
  retryable!: boolean | null;
}

/** A committed round in a snapshot. */
@ObjectType({ description: 'A complete round.' })
export class SnapshotRoundState {
  @Field(() => Int, { description: '1, 2, 3 … within the job.' })
  number!: number;

  @Field(() => String, { description: 'The text of the response.' })
  text!: string;

  @Field(() => String, { description: 'Its reasoning.' })
  reasoning!: string;
}

/** A request that a job waits for. */
@ObjectType({ description: 'An open request of a job.' })
export class OpenInterrupt {
  @Field(() => ID, { description: 'The id to settle it with.' })
  id!: string;

  @Field(() => InterruptKindEnum, { description: 'The kind of the request: what decision or result the job needs.' })
  kind!: string;

  @Field(() => String, { nullable: true, description: 'The call id that the model uses.' })
  callId!: string | null;

  @Field(() => String, { nullable: true, description: 'The workflow node that waits.' })
  nodeId!: string | null;

  @Field(() => String, { description: 'A one-line title.' })
  title!: string;

  @Field(() => Json, { description: 'The content of the request, by kind.' })
  request!: unknown;

  @Field(() => DateTime, { nullable: true, description: 'When it expires.' })
  expiresAt!: number | null;
}
