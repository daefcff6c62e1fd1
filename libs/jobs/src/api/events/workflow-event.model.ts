import { Field, Float, ID, Int, ObjectType } from '@nestjs/graphql';

import { NodeRunStatusEnum } from '../job.enums.js';
import { JobError } from '../job.model.js';
import { JobEventEntry, NodeEventEntry } from './job-event-entry.model.js';

// A field that occurs in several events has the same type in all of them, so that one GraphQL selection fits the whole log.

@ObjectType({ description: 'The route that a router chose.' })
export class TakenRoute {
  @Field(() => String, { description: 'Id of the route.' })
  selectedRoute!: string;

  @Field(() => String, { description: 'The node it leads to.' })
  selectedNodeId!: string;

  @Field(() => String, { description: 'Its name.' })
  selectedName!: string;

  @Field(() => String, { description: 'The reason given by the model.' })
  reasoning!: string;

  @Field(() => Boolean, { description: 'Whether no route was chosen and the first one was taken instead.' })
  fallbackUsed!: boolean;
}

/** One execution of a workflow node. */
@ObjectType({ isAbstract: true, implements: () => [JobEventEntry] })
abstract class NodeRunEntry extends NodeEventEntry {
  @Field(() => ID, { description: 'The id of the node run.' })
  nodeRunId!: string;

  @Field(() => String, { description: 'Its label.' })
  label!: string;

  @Field(() => String, { description: 'Its type, such as `agent` or `router`.' })
  type!: string;

  @Field(() => [String], { description: 'Ids of the enclosing nodes, outermost first.' })
  path!: string[];

  @Field(() => Int, {
    nullable: true,
    description: 'The iteration of the innermost loop or map that it belongs to, from 1.',
  })
  iteration!: number | null;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A workflow node started.' })
export class NodeStartedEvent extends NodeRunEntry {}

@ObjectType({ implements: () => [JobEventEntry], description: 'A node run ended.' })
export class NodeFinishedEvent extends NodeRunEntry {
  @Field(() => NodeRunStatusEnum, { description: 'How it ended.' })
  nodeStatus!: string;

  @Field(() => String, { description: 'Its output, truncated to 32 KiB.' })
  output!: string;

  @Field(() => JobError, { nullable: true, description: 'Why it failed, if it did.' })
  error!: JobError | null;

  @Field(() => Int, { nullable: true, description: 'Tokens that it used. Null: it called no model.' })
  tokenCount!: number | null;

  @Field(() => TakenRoute, { nullable: true, description: 'For a router: the chosen route.' })
  route!: TakenRoute | null;
}

/** A branch of a parallel node. */
@ObjectType({ isAbstract: true, implements: () => [JobEventEntry] })
abstract class BranchEntry extends JobEventEntry {
  @Field(() => String, { nullable: true, description: 'The parallel node.' })
  nodeId!: string | null;

  @Field(() => String, { nullable: true, description: 'The branch. `__merge__` combines the results of the others.' })
  branchId!: string | null;

  @Field(() => String, { description: 'Its label.' })
  label!: string;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A branch of a parallel node started.' })
export class BranchStartedEvent extends BranchEntry {}

@ObjectType({ implements: () => [JobEventEntry], description: 'A branch of a parallel node ended.' })
export class BranchFinishedEvent extends BranchEntry {
  @Field(() => NodeRunStatusEnum, { description: 'How it ended.' })
  nodeStatus!: string;

  @Field(() => String, { description: 'Its output, truncated to 32 KiB.' })
  output!: string;

  @Field(() => String, { nullable: true, description: 'Why it failed, if it did.' })
  failure!: string | null;

  @Field(() => Boolean, { nullable: true, description: 'Of a failed branch: whether it may succeed later.' })
  retryable!: boolean | null;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'Progress of a plugin node, for display only. At most two events per second and node run.',
})
export class NodeProgressEvent extends NodeEventEntry {
  @Field(() => ID, { description: 'The node run.' })
  nodeRunId!: string;

  @Field(() => Float, { nullable: true, description: 'The completed amount, in the unit of `total`.' })
  progress!: number | null;

  @Field(() => Float, { nullable: true, description: 'The total amount, if known.' })
  total!: number | null;

  @Field(() => String, { nullable: true, description: 'The current step.' })
  message!: string | null;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A router chose a route.' })
export class RouteSelectedEvent extends NodeEventEntry {
  @Field(() => String, { description: 'Id of the route.' })
  routeId!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'The reason given by the model.' })
  reasoning!: string;

  @Field(() => Boolean, { description: 'Whether no route was chosen and the first one was taken instead.' })
  fallbackUsed!: boolean;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A loop starts an iteration.' })
export class LoopIterationEvent extends NodeEventEntry {
  @Field(() => Int, { nullable: true, description: 'The number of the iteration, from 1.' })
  iteration!: number | null;

  @Field(() => Int, { description: 'The maximum number of iterations.' })
  maxIterations!: number;
}
