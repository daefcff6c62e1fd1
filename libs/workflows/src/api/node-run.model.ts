import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { NodeRunStatusEnum } from '#jobs/api';
import { connectionOf, DateTime, Json } from '#platform/api';

@ObjectType({ description: 'Why a node failed.' })
export class NodeRunError {
  @Field(() => String, { description: 'Its class, such as `RATE_LIMIT`, which retry rules refer to.' })
  code!: string;

  @Field(() => String, { description: 'A message for people.' })
  message!: string;

  @Field(() => Boolean, { description: 'Whether the same work may succeed later without a change.' })
  retryable!: boolean;

  @Field(() => Int, { nullable: true, description: 'The HTTP status of the response, if any.' })
  statusCode?: number;
}

/** One execution of one node. */
@ObjectType('NodeRun', { description: 'One execution of one node of a workflow; a loop makes several.' })
export class NodeRunModel {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;

  @Field(() => Int, { description: "1, 2, 3 … in the start order of the job's node runs." })
  ordinal!: number;

  @Field(() => String, { description: 'The node. Inside a subflow: `sf:<subflow node>|<id>`.' })
  nodeId!: string;

  @Field(() => [String], { description: 'The enclosing nodes, outermost first.' })
  path!: readonly string[];

  @Field(() => [Int], { description: 'Numbers of the enclosing loop and map iterations, from 1, outermost first.' })
  iteration!: readonly number[];

  @Field(() => String, { description: 'The type of the node, such as `agent`.' })
  type!: string;

  @Field(() => String, { description: "The node's name." })
  label!: string;

  @Field(() => NodeRunStatusEnum, { description: 'Its current state.' })
  status!: string;

  @Field(() => String, { description: 'Its input.' })
  input!: string;

  @Field(() => String, { nullable: true, description: 'Its output. Null until it ended.' })
  output!: string | null;

  @Field(() => Boolean, {
    description: 'Whether `input` or `output` is truncated. `nodeRun(jobId, ordinal)` returns them complete.',
  })
  isCut!: boolean;

  @Field(() => Json, {
    description: 'More details: the route of a router, outputs of branches, iterations, retries.',
  })
  extra!: unknown;

  @Field(() => NodeRunError, { nullable: true, description: 'Why it failed; null unless ERROR.' })
  error!: NodeRunError | null;

  @Field(() => Int, { description: 'Tokens of its prompts.' })
  promptTokens!: number;

  @Field(() => Int, { description: 'Tokens of its responses.' })
  completionTokens!: number;

  @Field(() => DateTime, { nullable: true, description: 'When it started.' })
  startedAt!: number | null;

  @Field(() => DateTime, { nullable: true, description: 'When it ended.' })
  finishedAt!: number | null;
}

export const NodeRunConnection = connectionOf(NodeRunModel, 'NodeRun');
