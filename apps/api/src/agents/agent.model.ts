import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { UserError } from '../graphql/user-error.model.js';

/** What an agent tightens; null: as the instance has it. */
@ObjectType('AgentLimits', {
  description: 'What an agent tightens of the limits of the instance; null: as the instance has it.',
})
export class AgentLimitsModel {
  @Field(() => Int, { nullable: true, description: 'Rounds of one answer; the last is asked without tools.' })
  maxRounds?: number | null;

  @Field(() => Int, { nullable: true, description: 'Tool calls that one round may ask for.' })
  maxToolCallsPerRound?: number | null;

  @Field(() => Int, { nullable: true, description: 'UTF-8 bytes of text and reasoning of one job.' })
  maxOutputBytes?: number | null;

  @Field(() => Int, { nullable: true, description: 'Ms until one answer of the model has to be whole.' })
  roundTimeoutMs?: number | null;
}

/** What an agent is made of. */
@ObjectType({ isAbstract: true })
abstract class AgentSettingsModel {
  @Field(() => String, { nullable: true, description: "The model; null: the request's, else the provider's default." })
  model!: string | null;

  @Field(() => String, { description: 'Its system prompt: comes before everything that a client says.' })
  instructions!: string;

  @Field(() => [String], { description: 'Server tools that it may call: names, or globs with `*` and `?`.' })
  tools!: readonly string[];

  @Field(() => [String], { description: 'Server tools that it leaves to clients to run: names or globs. They win.' })
  externalTools!: readonly string[];

  @Field(() => AgentLimitsModel, { description: 'Its limits.' })
  limits!: AgentLimitsModel;

  @Field(() => Json, { description: 'Sampling fields that it pins, as OpenAI names them: they win over a request.' })
  parameters!: unknown;

  @Field(() => Json, { nullable: true, description: 'Its layer of the approval policy; null: it asks for nothing.' })
  toolApproval!: unknown;
}

/** An agent as it is now. */
@ObjectType('Agent', { description: 'A preset of the workspace: who answers, and how.' })
export class AgentModel extends AgentSettingsModel {
  @Field(() => ID, { description: 'Our id of it.' })
  id!: string;

  @Field(() => String, { description: 'Its name, unique in the workspace.' })
  name!: string;

  @Field(() => String, {
    description: 'Its name as an id: the `model` of OpenAI clients. Stays when the name changes.',
  })
  slug!: string;

  @Field(() => String, { description: 'What it is for; by this `auto` chooses.' })
  description!: string;

  @Field(() => Int, { description: 'Its current version; goes into `expectedVersion`.' })
  version!: number;

  @Field(() => Boolean, { description: 'Whether it takes what `auto` can give to nobody.' })
  isDefault!: boolean;

  @Field(() => String, { description: 'Who made it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was made.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: number;

  @Field(() => DateTime, { nullable: true, description: 'When it was archived, in the payload of that.' })
  archivedAt!: number | null;
}

@ObjectType('AgentVersion', { description: 'What an agent was made of at one time. It never changes.' })
export class AgentVersionModel extends AgentSettingsModel {
  @Field(() => ID, { description: 'The agent.' })
  agentId!: string;

  @Field(() => Int, { description: '1, 2, 3 …' })
  number!: number;

  @Field(() => String, { description: 'SHA-256 (hex) of what it is made of.' })
  hash!: string;

  @Field(() => String, { description: 'Who made it: `user:<id>` or `key:<id>`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was made.' })
  createdAt!: number;
}

/** Who answers in a job. */
@ObjectType({ description: 'The agent that answers in a job, as it was when it was pinned.' })
export class JobAgent {
  @Field(() => ID, { description: 'Our id of the agent; it may be archived by now.' })
  id!: string;

  @Field(() => Int, { description: 'The version that answers.' })
  version!: number;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Its name as an id.' })
  slug!: string;
}

export const AgentConnection = connectionOf(AgentModel, 'Agent');
export const AgentVersionConnection = connectionOf(AgentVersionModel, 'AgentVersion');

@ObjectType({ description: 'The agent as it is now (or was, when archived), or why nothing changed.' })
export class AgentPayload {
  @Field(() => AgentModel, { nullable: true, description: 'The agent.' })
  agent?: AgentModel | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}
