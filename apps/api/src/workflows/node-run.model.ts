import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { NodeRunStatusEnum } from '../jobs/job.enums.js';

@ObjectType({ description: 'Why a node failed.' })
export class NodeRunError {
  @Field(() => String, { description: 'Its class, such as `RATE_LIMIT`: what retry rules name.' })
  code!: string;

  @Field(() => String, { description: 'A sentence for a person.' })
  message!: string;

  @Field(() => Int, { nullable: true, description: 'The HTTP status, if one was answered.' })
  statusCode?: number;
}

/** One execution of one node. */
@ObjectType('NodeRun', { description: 'One execution of one node of a workflow; a loop makes several.' })
export class NodeRunModel {
  @Field(() => ID, { description: 'The job.' })
  jobId!: string;

  @Field(() => Int, { description: '1, 2, 3 … in the order in which node runs of the job were begun.' })
  ordinal!: number;

  @Field(() => String, { description: 'The node; inside of a subflow `sf:<subflow node>|<id>`.' })
  nodeId!: string;

  @Field(() => [String], { description: 'The nodes it runs inside of, outermost first.' })
  path!: readonly string[];

  @Field(() => [Int], { description: 'Numbers of the loop passes and map items around it, from 1, outermost first.' })
  iteration!: readonly number[];

  @Field(() => String, { description: 'The type of the node, such as `agent`.' })
  type!: string;

  @Field(() => String, { description: "The node's name." })
  label!: string;

  @Field(() => NodeRunStatusEnum, { description: 'Where it stands.' })
  status!: string;

  @Field(() => String, { description: 'What it read.' })
  input!: string;

  @Field(() => String, { nullable: true, description: 'What it wrote; null until it has ended.' })
  output!: string | null;

  @Field(() => Boolean, {
    description: 'Whether `input` or `output` is only the beginning: `nodeRun(jobId, ordinal)` has the whole.',
  })
  isCut!: boolean;

  @Field(() => Json, {
    description: 'What else is known of it: the route of a router, outputs of branches, passes, retries.',
  })
  extra!: unknown;

  @Field(() => NodeRunError, { nullable: true, description: 'Why it failed; null unless ERROR.' })
  error!: NodeRunError | null;

  @Field(() => Int, { description: 'Tokens of its prompts.' })
  promptTokens!: number;

  @Field(() => Int, { description: 'Tokens of its answers.' })
  completionTokens!: number;

  @Field(() => DateTime, { nullable: true, description: 'When it began.' })
  startedAt!: number | null;

  @Field(() => DateTime, { nullable: true, description: 'When it ended.' })
  finishedAt!: number | null;
}

export const NodeRunConnection = connectionOf(NodeRunModel, 'NodeRun');
