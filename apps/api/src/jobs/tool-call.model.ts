import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { Node } from '../graphql/node/node.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { ToolCallStatusEnum } from './job.enums.js';

/** Why a call has no result. */
@ObjectType({ description: 'Why a tool call has no result.' })
export class ToolCallError {
  @Field(() => String, { nullable: true, description: 'Where it failed: `validation`, `execution` or `timeout`.' })
  phase!: string | null;

  @Field(() => String, { description: 'What the model read.' })
  message!: string;
}

/** One call of a tool, from the ledger. */
@ObjectType({
  implements: () => [Node],
  description: 'One call of a tool: there is one for each that a model ever asked for.',
})
export class ToolCall extends Node {
  @Field(() => ID, { description: 'Our id of the call.' })
  id!: string;

  @Field(() => String, { description: 'The id the model knows the call by; unique within its job.' })
  callId!: string;

  @Field(() => Int, { description: 'The round that asked for it.' })
  round!: number;

  @Field(() => Int, { description: '1, 2, 3 … in the order in which the round asked.' })
  ordinal!: number;

  @Field(() => String, { description: 'Name of the tool.' })
  name!: string;

  @Field(() => String, {
    description: 'JSON text as the model wrote it; `{"_omitted":true,"bytes":N}` when it was too large.',
  })
  arguments!: string;

  @Field(() => ToolCallStatusEnum, { description: 'Where the call stands.' })
  status!: string;

  @Field(() => String, { description: 'What calling twice would do: `pure`, `idempotent` or `once`.' })
  effect!: string;

  @Field(() => String, {
    nullable: true,
    description: 'What the tool answered, cut to 32 KiB; null unless it completed.',
  })
  result!: string | null;

  @Field(() => ToolCallError, { nullable: true, description: 'Why there is no result.' })
  error!: ToolCallError | null;

  @Field(() => DateTime, { description: 'When the model had asked.' })
  createdAt!: number;

  @Field(() => DateTime, { nullable: true, description: 'When the tool started.' })
  startedAt!: number | null;

  @Field(() => DateTime, { nullable: true, description: 'When the call was settled.' })
  finishedAt!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: 'From start to end, in ms; null while it runs or if it never started.',
  })
  durationMs!: number | null;
}
