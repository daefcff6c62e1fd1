import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, Node } from '#platform/api';

import { ToolSortEnum } from '../tool.model.js';
import { ToolCallStatusEnum } from './tool-call.enums.js';

/** Why a call has no result. */
@ObjectType({ description: 'Why a tool call has no result.' })
export class ToolCallError {
  @Field(() => String, {
    nullable: true,
    description: 'Where it failed: `validation`, `approval`, `execution` or `timeout`.',
  })
  phase!: string | null;

  @Field(() => String, { nullable: true, description: 'An error code, if the tool gave one.' })
  code!: string | null;

  @Field(() => Boolean, { description: 'Whether the same call may succeed later without a change.' })
  retryable!: boolean;

  @Field(() => String, { description: 'What the model read.' })
  message!: string;

  @Field(() => String, {
    nullable: true,
    description:
      'The actual reason, if the model received only the message that the tool does not exist. Null if the caller may not read the policy.',
  })
  reason!: string | null;
}

/** One call of a tool, from the ledger. */
@ObjectType({
  implements: () => [Node],
  description: 'One tool call of a model, a workflow node or an API client.',
})
export class ToolCall extends Node {
  @Field(() => ID, { description: 'The server id of the call.' })
  id!: string;

  @Field(() => ID, { description: 'The job of the call.' })
  jobId!: string;

  @Field(() => ID, { nullable: true, description: 'The thread of that job.' })
  threadId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The workflow of that job.' })
  workflowId!: string | null;

  @Field(() => ID, { nullable: true, description: 'The user who started that job; null for Nightshift itself.' })
  createdBy!: string | null;

  @Field(() => String, { description: 'The call id that the model uses, unique within the job.' })
  callId!: string;

  @Field(() => Int, { description: 'The round that requested it.' })
  round!: number;

  @Field(() => Int, { description: "1, 2, 3 … in the order of the round's requests." })
  ordinal!: number;

  @Field(() => String, { description: 'Name of the tool.' })
  name!: string;

  @Field(() => String, {
    description:
      'The arguments as JSON text: as the model wrote them, or as a person approved them. `{"_omitted":true,"bytes":N}` if too large.',
  })
  arguments!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The arguments that the model proposed, if a person edited them. Null: not edited.',
  })
  proposedArguments!: string | null;

  @Field(() => ToolCallStatusEnum, { description: 'The status of the call.' })
  status!: string;

  @Field(() => String, { description: 'The effect of repeating the call: `pure`, `idempotent` or `once`.' })
  effect!: string;

  @Field(() => ToolSortEnum, { description: 'What kind of tool runs it.' })
  runtime!: string;

  @Field(() => String, {
    description: 'Where it runs: `worker`, `queue` (isolated), `client`, or `job` (as a sub-job).',
  })
  executor!: string;

  @Field(() => String, {
    nullable: true,
    description: 'Version or fingerprint of the definition that was run, where it is known.',
  })
  toolVersion!: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      'How it was approved or refused: `policy`, `person`, `grant`, `denied`, `expired`, `blocked` or `withdrawn`. Null: no approval was needed.',
  })
  approval!: string | null;

  @Field(() => String, { nullable: true, description: 'The principal who decided: `user:<id>` or `key:<id>`.' })
  decidedBy!: string | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The last interrupt that allowed, repeated, denied or ended the call.',
  })
  decisionId!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The result, truncated to 32 KiB. Null unless COMPLETED. `content` has the complete result.',
  })
  result!: string | null;

  @Field(() => Int, { nullable: true, description: 'Size of the complete result before truncation, in UTF-8 bytes.' })
  resultBytes!: number | null;

  @Field(() => ToolCallError, { nullable: true, description: 'Why the call has no result.' })
  error!: ToolCallError | null;

  @Field(() => DateTime, { description: 'When the model requested it.' })
  createdAt!: number;

  @Field(() => DateTime, { nullable: true, description: 'When the tool started.' })
  startedAt!: number | null;

  @Field(() => DateTime, { nullable: true, description: 'When the call was settled.' })
  finishedAt!: number | null;

  @Field(() => Int, {
    nullable: true,
    description:
      'How long the tool ran, in ms. Null while the tool runs, if it never ran, or if the time when it ended is unknown.',
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

  @Field(() => Int, { description: 'The offset of this part.' })
  offset!: number;

  @Field(() => Int, { nullable: true, description: 'The offset of the next part. Null: this is the end.' })
  nextOffset!: number | null;

  @Field(() => Int, { description: 'Length of the stored result.' })
  totalCharacters!: number;
}

/** All stored content of a call. */
@ObjectType({
  description: 'The complete content of a call: the proposed, approved and executed arguments, and the result.',
})
export class ToolCallContent {
  @Field(() => String, { description: 'The arguments as the model proposed them.' })
  proposedArguments!: string;

  @Field(() => String, { nullable: true, description: 'The arguments as approved. Null: no approval was needed.' })
  approvedArguments!: string | null;

  @Field(() => String, { nullable: true, description: 'The arguments passed to the tool. Null: it never started.' })
  executedArguments!: string | null;

  @Field(() => ToolCallResultPart, { nullable: true, description: 'The requested part. Null: no result.' })
  result!: ToolCallResultPart | null;
}
