import { Field, ID, Int, InterfaceType, ObjectType } from '@nestjs/graphql';

import { DateTime } from '#platform/api';

/** A value that carries the name of its GraphQL type. */
export interface Typed {
  readonly __typename: string;
}

/** The fields of every entry of a job's log. */
@InterfaceType({
  description: "The fields of every entry of a job's log. Entries are numbered 1, 2, 3 … without gaps.",
  resolveType: (value: Typed) => value.__typename,
})
export abstract class JobEventEntry {
  @Field(() => Int, { description: 'Its number in the log of the job. Pass it as `after` to resume.' })
  seq!: number;

  @Field(() => ID, { description: 'The job.' })
  jobId!: string;

  @Field(() => DateTime, { description: 'When the event was stored.' })
  at!: number;

  @Field(() => Int, {
    description: 'Number of `RoundRestartedEvent`s up to and including this event. Each restart removes streamed text.',
  })
  attempt!: number;
}

/** An entry that may be about a node of a workflow. */
@ObjectType({ isAbstract: true, implements: () => [JobEventEntry] })
export abstract class NodeEventEntry extends JobEventEntry {
  @Field(() => String, { nullable: true, description: 'The workflow node that the event belongs to. Null: none.' })
  nodeId!: string | null;
}
