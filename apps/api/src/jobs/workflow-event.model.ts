import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { NodeRunStatusEnum } from './job.enums.js';
import { JobError } from './job.model.js';
import { JobEventEntry, NodeEventEntry } from './job-event-entry.model.js';

// A field that several events have is of one type in all of them, so that one selection fits a whole log.

@ObjectType({ description: 'The route that a router took.' })
export class TakenRoute {
  @Field(() => String, { description: 'Id of the route.' })
  selectedRoute!: string;

  @Field(() => String, { description: 'The node it leads to.' })
  selectedNodeId!: string;

  @Field(() => String, { description: 'Its name.' })
  selectedName!: string;

  @Field(() => String, { description: 'Why, in the words of the model.' })
  reasoning!: string;

  @Field(() => Boolean, { description: 'Whether no route was chosen and the first one was taken instead.' })
  fallbackUsed!: boolean;
}

/** One execution of one node. */
@ObjectType({ isAbstract: true, implements: () => [JobEventEntry] })
abstract class NodeRunEntry extends NodeEventEntry {
  @Field(() => ID, { description: 'This execution of the node.' })
  nodeRunId!: string;

  @Field(() => String, { description: 'Its label.' })
  label!: string;

  @Field(() => String, { description: 'Its type, such as `agent` or `router`.' })
  type!: string;

  @Field(() => [String], { description: 'Ids of the nodes it runs inside of, outermost first.' })
  path!: string[];

  @Field(() => Int, {
    nullable: true,
    description: 'The pass of the innermost loop, or item of the map, that it is part of; from 1.',
  })
  iteration!: number | null;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A node of the workflow is run.' })
export class NodeStartedEvent extends NodeRunEntry {}

@ObjectType({ implements: () => [JobEventEntry], description: 'The run of a node is over.' })
export class NodeFinishedEvent extends NodeRunEntry {
  @Field(() => NodeRunStatusEnum, { description: 'How it ended.' })
  nodeStatus!: string;

  @Field(() => String, { description: 'What it said, cut to 32 KiB.' })
  output!: string;

  @Field(() => JobError, { nullable: true, description: 'Why it failed, if it did.' })
  error!: JobError | null;

  @Field(() => Int, { nullable: true, description: 'Tokens it took; null: it asked no model.' })
  tokenCount!: number | null;

  @Field(() => TakenRoute, { nullable: true, description: 'Of a router: where it leads on.' })
  route!: TakenRoute | null;
}

/** A branch of a parallel node. */
@ObjectType({ isAbstract: true, implements: () => [JobEventEntry] })
abstract class BranchEntry extends NodeEventEntry {
  @Field(() => String, { nullable: true, description: 'The branch; `__merge__` puts the others together.' })
  branchId!: string | null;

  @Field(() => String, { description: 'Its label.' })
  label!: string;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A branch of a parallel node is run.' })
export class BranchStartedEvent extends BranchEntry {}

@ObjectType({ implements: () => [JobEventEntry], description: 'A branch of a parallel node is over.' })
export class BranchFinishedEvent extends BranchEntry {
  @Field(() => NodeRunStatusEnum, { description: 'How it ended.' })
  nodeStatus!: string;

  @Field(() => String, { description: 'What it said, cut to 32 KiB.' })
  output!: string;

  @Field(() => String, { nullable: true, description: 'Why it failed, if it did.' })
  failure!: string | null;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A router has chosen where the workflow goes on.' })
export class RouteSelectedEvent extends NodeEventEntry {
  @Field(() => String, { description: 'Id of the route.' })
  routeId!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Why, in the words of the model.' })
  reasoning!: string;

  @Field(() => Boolean, { description: 'Whether no route was chosen and the first one was taken instead.' })
  fallbackUsed!: boolean;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'A loop begins a pass through its body.' })
export class LoopIterationEvent extends NodeEventEntry {
  @Field(() => Int, { nullable: true, description: 'Which pass it is, from 1.' })
  iteration!: number | null;

  @Field(() => Int, { description: 'How many there may be.' })
  maxIterations!: number;
}
