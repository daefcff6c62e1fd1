import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { Node } from '../graphql/node/node.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { ToolCallStatusEnum } from '../jobs/job.enums.js';
import { ToolSortEnum } from '../tools/tool.model.js';

/** Why a call has no result. */
@ObjectType({ description: 'Why a tool call has no result.' })
export class ToolCallError {
  @Field(() => String, {
    nullable: true,
    description: 'Where it failed: `validation`, `approval`, `execution` or `timeout`.',
  })
  phase!: string | null;

  @Field(() => String, { nullable: true, description: 'What went wrong, in one word, where the tool says so.' })
  code!: string | null;

  @Field(() => String, { description: 'What the model read.' })
  message!: string;

  @Field(() => String, {
    nullable: true,
    description:
      'Why in truth, where the model read that there is no such tool: for those who may read the policy, and null for others.',
  })
  reason!: string | null;
}

/** One call of a tool, from the ledger. */
@ObjectType({
  implements: () => [Node],
  description: 'One call of a tool: there is one for each that a model ever asked for.',
})
export class ToolCall extends Node {
  @Field(() => ID, { description: 'Our id of the call.' })
  id!: string;

  @Field(() => ID, { description: 'The job that asked for it.' })
  jobId!: string;

  @Field(() => ID, { nullable: true, description: 'The thread of that job.' })
  threadId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The workflow of that job.' })
  workflowId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The user who started that job; null for Nightshift itself.' })
  createdBy!: string | null;

  @Field(() => String, { description: 'The id the model knows the call by; unique within its job.' })
  callId!: string;

  @Field(() => Int, { description: 'The round that asked for it.' })
  round!: number;

  @Field(() => Int, { description: '1, 2, 3 … in the order in which the round asked.' })
  ordinal!: number;

  @Field(() => String, { description: 'Name of the tool.' })
  name!: string;

  @Field(() => String, {
    description:
      'JSON text of what the call was run with, or is going to be: as the model wrote it, or as a person approved it; `{"_omitted":true,"bytes":N}` when it was too large.',
  })
  arguments!: string;

  @Field(() => String, {
    nullable: true,
    description: 'What the model had proposed, where a person made something else of it; null: `arguments` says it.',
  })
  proposedArguments!: string | null;

  @Field(() => ToolCallStatusEnum, { description: 'Where the call stands.' })
  status!: string;

  @Field(() => String, { description: 'What calling twice would do: `pure`, `idempotent` or `once`.' })
  effect!: string;

  @Field(() => ToolSortEnum, { description: 'What kind of thing answers it.' })
  runtime!: string;

  @Field(() => String, { description: 'Where it runs: `worker`, `queue` (isolated) or `client`.' })
  executor!: string;

  @Field(() => String, {
    nullable: true,
    description: 'Version or fingerprint of the definition that was run, where it is known.',
  })
  toolVersion!: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      'Who let it run, or did not: `policy`, `person`, `grant`, `denied`, `expired`, `blocked` or `withdrawn`; null: nobody was asked.',
  })
  approval!: string | null;

  @Field(() => String, { nullable: true, description: 'The principal who decided: `user:<id>` or `key:<id>`.' })
  decidedBy!: string | null;

  @Field(() => ID, { nullable: true, description: 'The request that was decided.' })
  decisionId!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'What the tool answered, cut to 32 KiB; null unless it completed. All of it is in `content`.',
  })
  result!: string | null;

  @Field(() => Int, { nullable: true, description: 'UTF-8 bytes of the whole result, before any cut.' })
  resultBytes!: number | null;

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
    description: 'How long the tool ran, in ms; null while it runs, if it never did, and if nobody saw its end.',
  })
  durationMs!: number | null;
}

/** A page of calls. */
export const ToolCallConnection = connectionOf(ToolCall, 'ToolCall');

/** A part of a result. */
@ObjectType({ description: 'A part of the result of a call. Positions count characters (Unicode code points).' })
export class ToolCallResultPart {
  @Field(() => String, { description: 'The part.' })
  text!: string;

  @Field(() => Int, { description: 'Where it begins.' })
  offset!: number;

  @Field(() => Int, { nullable: true, description: 'Where to go on; null: this was the end.' })
  nextOffset!: number | null;

  @Field(() => Int, { description: 'Length of the whole result, as far as it is kept.' })
  totalCharacters!: number;
}

/** All that is kept of a call. */
@ObjectType({
  description: 'All that is kept of a call: arguments as proposed, as approved and as executed, and its whole result.',
})
export class ToolCallContent {
  @Field(() => String, { description: 'As the model proposed them.' })
  proposedArguments!: string;

  @Field(() => String, { nullable: true, description: 'As a person approved them; null: nobody was asked.' })
  approvedArguments!: string | null;

  @Field(() => String, { nullable: true, description: 'As they were handed to the tool; null: it never started.' })
  executedArguments!: string | null;

  @Field(() => ToolCallResultPart, { nullable: true, description: 'The part that was asked for; null: no result.' })
  result!: ToolCallResultPart | null;
}
