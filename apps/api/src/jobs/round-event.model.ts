import { Field, Int, ObjectType } from '@nestjs/graphql';

import { JobEventEntry, NodeEventEntry } from './job-event-entry.model.js';
import { Usage } from './round.model.js';

@ObjectType({ implements: () => [JobEventEntry], description: 'The model is asked.' })
export class RoundStartedEvent extends NodeEventEntry {
  @Field(() => Int, { description: 'The round.' })
  round!: number;

  @Field(() => String, { description: 'The model.' })
  model!: string;
}

/** A piece of what a model says, and where it belongs. */
@ObjectType({ isAbstract: true })
class DeltaEvent extends NodeEventEntry {
  @Field(() => Int, { description: 'The round.' })
  round!: number;

  @Field(() => Int, {
    nullable: true,
    description:
      "Where it begins in the job's content, or in its reasoning, in UTF-16 units; null: it is text of the node only.",
  })
  offset!: number | null;

  @Field(() => String, { nullable: true, description: 'The branch of the node, if it has several.' })
  branchId!: string | null;

  @Field(() => String, { description: 'The text.' })
  text!: string;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'Text of the answer. Several pieces of the model may be in one.',
})
export class TextDeltaEvent extends DeltaEvent {}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'Reasoning of the model, as far as the provider shows it.',
})
export class ReasoningDeltaEvent extends DeltaEvent {}

@ObjectType({
  implements: () => [JobEventEntry],
  description:
    'The round begins anew: text beyond the lengths given is withdrawn, and what the round has shown at its node. What other rounds had shown beyond them follows again, without a `nodeId`.',
})
export class RoundRestartedEvent extends NodeEventEntry {
  @Field(() => Int, { description: 'The round.' })
  round!: number;

  @Field(() => String, { description: 'Why.' })
  reason!: string;

  @Field(() => String, { nullable: true, description: 'The branch of the node, if it has several.' })
  branchId!: string | null;

  @Field(() => Int, { description: 'How much of the content stays, in UTF-16 units.' })
  contentLength!: number;

  @Field(() => Int, { description: 'How much of the reasoning stays, in UTF-16 units.' })
  reasoningLength!: number;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The round is complete and recorded.' })
export class RoundFinishedEvent extends JobEventEntry {
  @Field(() => Int, { description: 'The round.' })
  round!: number;

  @Field(() => String, { description: 'Why the model stopped.' })
  finishReason!: string;

  @Field(() => Usage, { description: 'Tokens of the round.' })
  usage!: Usage;

  @Field(() => [String], { description: 'The calls it asked for.' })
  toolCallIds!: string[];
}
