import { Field, Float, Int, ObjectType } from '@nestjs/graphql';

import { Usage } from '../usage.model.js';
import { JobEventEntry, NodeEventEntry } from './job-event-entry.model.js';

@ObjectType({ implements: () => [JobEventEntry], description: 'The model was called.' })
export class RoundStartedEvent extends NodeEventEntry {
  @Field(() => Int, { description: 'The round.' })
  round!: number;

  @Field(() => String, { description: 'The model.' })
  model!: string;
}

/** A piece of the model's text, and its position. */
@ObjectType({ isAbstract: true })
class DeltaEvent extends NodeEventEntry {
  @Field(() => Int, { description: 'The round.' })
  round!: number;

  @Field(() => Int, {
    nullable: true,
    description:
      "Its offset in the job's content or reasoning, in UTF-16 units. Null: the text belongs to the node only.",
  })
  offset!: number | null;

  @Field(() => String, { nullable: true, description: 'The branch of the node, if it has several.' })
  branchId!: string | null;

  @Field(() => String, { description: 'The text.' })
  text!: string;
}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'Text of the response. One event may contain several chunks of the model.',
})
export class TextDeltaEvent extends DeltaEvent {}

@ObjectType({
  implements: () => [JobEventEntry],
  description: 'Reasoning of the model, if the provider returns it.',
})
export class ReasoningDeltaEvent extends DeltaEvent {}

@ObjectType({
  implements: () => [JobEventEntry],
  description:
    'The round restarts. Discard all content and reasoning of the job beyond the given lengths, and the text that the round had added to its workflow node. Text of other rounds beyond these lengths follows again, in `TextDeltaEvent`s and `ReasoningDeltaEvent`s whose `nodeId` is null.',
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

@ObjectType({
  implements: () => [JobEventEntry],
  description:
    'The model provider could not be used. The job sends the request again at `retryAt`. No output of the round has been sent to viewers.',
})
export class ModelRetryEvent extends NodeEventEntry {
  @Field(() => Int, { description: 'The round.' })
  round!: number;

  @Field(() => Int, { description: 'How many requests of the round have failed in a row.' })
  failures!: number;

  @Field(() => Int, { description: 'Ms from this event to the next request.' })
  delayMs!: number;

  @Field(() => Float, { description: 'When the next request is sent, in ms since the epoch.' })
  retryAt!: number;

  @Field(() => String, { description: 'Why the last request failed; stable, such as `model_connection_refused`.' })
  code!: string;

  @Field(() => String, { description: 'The same as a sentence for people.' })
  reason!: string;

  @Field(() => Boolean, { description: 'Whether the job releases its worker until then and is WAITING.' })
  waits!: boolean;
}

@ObjectType({ implements: () => [JobEventEntry], description: 'The round is complete and recorded.' })
export class RoundFinishedEvent extends JobEventEntry {
  @Field(() => Int, { description: 'The round.' })
  round!: number;

  @Field(() => String, { description: 'Why the model stopped.' })
  finishReason!: string;

  @Field(() => Usage, { description: 'Tokens of the round.' })
  usage!: Usage;

  @Field(() => [String], { description: 'Ids of the requested tool calls.' })
  toolCallIds!: string[];
}
