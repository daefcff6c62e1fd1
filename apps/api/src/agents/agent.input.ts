import { Field, ID, InputType, Int } from '@nestjs/graphql';

import { Json } from '../graphql/scalars/json.scalar.js';

@InputType({ description: 'What an agent tightens of the limits of the instance; absent: as the instance has it.' })
export class AgentLimitsInput {
  @Field(() => Int, { nullable: true, description: 'Rounds of one answer; the last is asked without tools.' })
  maxRounds?: number | null;

  @Field(() => Int, { nullable: true, description: 'Tool calls that one round may ask for.' })
  maxToolCallsPerRound?: number | null;

  @Field(() => Int, { nullable: true, description: 'UTF-8 bytes of text and reasoning of one job.' })
  maxOutputBytes?: number | null;

  @Field(() => Int, { nullable: true, description: 'Ms until one answer of the model has to be whole.' })
  roundTimeoutMs?: number | null;
}

/** What may be said of an agent. */
@InputType({ isAbstract: true })
abstract class AgentFieldsInput {
  @Field(() => String, {
    nullable: true,
    description: 'Its name as an id: 1 to 64 of a-z, 0-9, `.`, `_`, `-`; unique. Absent: made of its name, once.',
  })
  slug?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'What it is for, at most 1,000 characters: `auto` chooses by it.',
  })
  description?: string | null;

  @Field(() => String, { nullable: true, description: "The model; null: the request's, else the provider's default." })
  model?: string | null;

  @Field(() => String, { nullable: true, description: 'Its system prompt, at most 100,000 characters.' })
  instructions?: string | null;

  @Field(() => [String], {
    nullable: true,
    description: 'Server tools that it may call: names, or globs with `*`, `?`.',
  })
  tools?: string[] | null;

  @Field(() => [String], { nullable: true, description: 'Server tools that it leaves to clients to run. They win.' })
  externalTools?: string[] | null;

  @Field(() => AgentLimitsInput, { nullable: true, description: 'Its limits, all of them.' })
  limits?: AgentLimitsInput | null;

  @Field(() => Json, {
    nullable: true,
    description: 'Sampling fields that it pins, as OpenAI names them: `{"temperature":0.2}`. They win over a request.',
  })
  parameters?: unknown;

  @Field(() => Json, {
    nullable: true,
    description: "Its layer of the approval policy, in the shape of the workspace's; it can only tighten. Null: none.",
  })
  toolApproval?: unknown;
}

@InputType({ description: 'An agent to be made.' })
export class CreateAgentInput extends AgentFieldsInput {
  @Field(() => String, { description: 'Its name, 1 to 100 characters, unique in the workspace.' })
  name!: string;
}

@InputType({ description: 'What changes of an agent; what is absent stays.' })
export class UpdateAgentInput extends AgentFieldsInput {
  @Field(() => ID, { description: 'Our id of the agent, its slug or its name.' })
  id!: string;

  @Field(() => String, { nullable: true, description: 'Its name, 1 to 100 characters.' })
  name?: string | null;

  @Field(() => Int, {
    nullable: true,
    description: 'The `version` that the change was made from: refused when there is a newer one.',
  })
  expectedVersion?: number | null;
}

@InputType({ description: 'Which version is to be what the agent is made of again.' })
export class RestoreAgentVersionInput {
  @Field(() => ID, { description: 'The agent: id, slug or name.' })
  id!: string;

  @Field(() => Int, { description: 'The version.' })
  version!: number;
}

@InputType({ description: 'Which agent.' })
export class AgentRefInput {
  @Field(() => ID, { description: 'The agent: id, slug or name.' })
  id!: string;
}

@InputType({ description: 'Who answers: one agent, or whichever fits best. Exactly one of the two.' })
export class AgentWishInput {
  @Field(() => ID, { nullable: true, description: 'An agent: id, slug or name.' })
  id?: string | null;

  @Field(() => Boolean, { nullable: true, description: 'True: the job has a model choose, by what agents are for.' })
  auto?: boolean | null;
}
